"""Transposed 1d convolution that triples the length."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, LENGTH = 2 * SCALE, 7, 4, 25 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.ConvTranspose1d(inputs, outputs, kernel_size=5, stride=3, padding=1)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, INPUTS, LENGTH)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
