"""Convolution, group norm, softplus, mean over pixels."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, SIDE = 3 * SCALE, 3, 12, 13 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=3)
        self.norm = nn.GroupNorm(3, outputs)

    def forward(self, x):
        return torch.mean(F.softplus(self.norm(self.conv(x))), dim=(2, 3))


def get_inputs():
    return [torch.randn(BATCH, INPUTS, SIDE, SIDE)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
