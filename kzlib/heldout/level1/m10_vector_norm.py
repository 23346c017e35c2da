"""Euclidean length of every vector along the last dimension."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, LENGTH, WIDTH = 4 * SCALE, 29 * SCALE, 50


class Model(nn.Module):
    def forward(self, x):
        return torch.linalg.vector_norm(x, ord=2, dim=-1)


def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTH)]


def get_init_inputs():
    return []
