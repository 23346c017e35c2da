"""Mean Huber loss of two matrices."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
ROWS, COLUMNS = 31 * SCALE, 64 * SCALE


class Model(nn.Module):
    def forward(self, x, target):
        return F.huber_loss(x, target, delta=0.7)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
