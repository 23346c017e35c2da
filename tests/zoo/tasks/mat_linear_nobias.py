import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(44, 18, bias=False)

    def forward(self, x):
        return self.proj(x)


def get_inputs():
    return [torch.randn(12, 44)]


def get_init_inputs():
    return []
