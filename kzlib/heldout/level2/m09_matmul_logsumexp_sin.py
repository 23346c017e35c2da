"""Matrix product, logarithm of the sum of exponentials of a row, sine."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
M, K, N = 34 * SCALE, 29 * SCALE, 47 * SCALE


class Model(nn.Module):
    def forward(self, a, b):
        return torch.sin(torch.logsumexp(torch.matmul(a, b) * K**-0.5, dim=1))


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
