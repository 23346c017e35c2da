"""1d average pooling, its sigmoid gates it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, CHANNELS, LENGTH = 3 * SCALE, 7, 80 * SCALE


class Model(nn.Module):
    def forward(self, x):
        y = F.avg_pool1d(x, kernel_size=4, stride=3)
        return y * torch.sigmoid(2 * y)


def get_inputs():
    return [2 * torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return []
