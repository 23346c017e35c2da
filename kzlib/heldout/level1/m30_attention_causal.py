"""Causal scaled dot product attention."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, HEADS, LENGTH, WIDTH = 2, 2 * SCALE, 24 * SCALE, 16


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [torch.randn(BATCH, HEADS, LENGTH, WIDTH) for _ in range(3)]


def get_init_inputs():
    return []
