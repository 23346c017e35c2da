"""Softplus with a sharper bend than the default."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, FEATURES = 24 * SCALE, 201 * SCALE


class Model(nn.Module):
    def forward(self, x):
        return F.softplus(x, beta=2.0, threshold=15.0)


def get_inputs():
    return [3 * torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return []
