"""Layer normalisation of the last dimension with weight and bias."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, LENGTH, WIDTH = 3 * SCALE, 17 * SCALE, 90


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-5)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.5, 0.5)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTH)]


def get_init_inputs():
    return [WIDTH]
