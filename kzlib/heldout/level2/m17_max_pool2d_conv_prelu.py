"""Max pooling, 1x1 convolution, learned leaky ReLU."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, SIDE = 2 * SCALE, 5, 7, 22 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.pool = nn.MaxPool2d(3, stride=2)
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=1)
        self.act = nn.PReLU(outputs)

    def forward(self, x):
        return self.act(self.conv(self.pool(x)))


def get_inputs():
    return [torch.randn(BATCH, INPUTS, SIDE, SIDE)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
