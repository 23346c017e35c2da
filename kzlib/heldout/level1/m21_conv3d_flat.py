"""3d convolution whose window is flat in depth."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, DEPTH, SIDE = SCALE, 3, 5, 4, 11 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, kernel_size=(1, 3, 3), bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, INPUTS, DEPTH, SIDE, SIDE)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
