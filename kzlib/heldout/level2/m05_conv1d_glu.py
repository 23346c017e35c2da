"""1d convolution whose channels gate each other."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, LENGTH = 2 * SCALE, 5, 14, 50 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel_size=5, padding=2)

    def forward(self, x):
        return F.glu(self.conv(x), dim=1)


def get_inputs():
    return [torch.randn(BATCH, INPUTS, LENGTH)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
