"""3d convolution, average pooling, CELU."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, SIDE = SCALE, 2, 6, 10 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, kernel_size=3)

    def forward(self, x):
        return F.celu(F.avg_pool3d(self.conv(x), kernel_size=2), alpha=0.5)


def get_inputs():
    return [2 * torch.randn(BATCH, INPUTS, SIDE, SIDE, SIDE)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
