import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ema", torch.zeros(8))

    def forward(self, x):
        self.ema.mul_(0.9).add_(0.1 * x.mean(0))
        return x - self.ema


def get_inputs():
    return [torch.randn(20, 8)]


def get_init_inputs():
    return []
