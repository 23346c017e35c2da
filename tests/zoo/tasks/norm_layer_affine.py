import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(48)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(5, 3, 48)]


def get_init_inputs():
    return []
