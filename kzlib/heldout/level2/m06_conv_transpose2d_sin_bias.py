"""Transposed convolution, a bias a channel, sine."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, SIDE = SCALE, 6, 4, 10 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.ConvTranspose2d(inputs, outputs, kernel_size=4, stride=2, padding=1, bias=False)
        self.shift = nn.Parameter(torch.randn(outputs, 1, 1))

    def forward(self, x):
        return torch.sin(self.conv(x) + self.shift)


def get_inputs():
    return [torch.randn(BATCH, INPUTS, SIDE, SIDE)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
