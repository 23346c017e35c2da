import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 8)
        self.k = nn.Linear(16, 8)
        self.v = nn.Linear(16, 8)

    def forward(self, x):
        return self.q(x), self.k(x), self.v(x)


def get_inputs():
    return [torch.randn(3, 7, 16)]


def get_init_inputs():
    return []
