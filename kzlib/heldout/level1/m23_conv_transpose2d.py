"""Transposed 2d convolution with unequal strides."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, SIDE = SCALE, 5, 6, 9 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.ConvTranspose2d(inputs, outputs, kernel_size=3, stride=(2, 1), output_padding=(1, 0))

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, INPUTS, SIDE, SIDE)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
