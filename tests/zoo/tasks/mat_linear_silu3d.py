import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 24)

    def forward(self, x):
        return F.silu(self.fc(x))


def get_inputs():
    return [torch.randn(2, 7, 16)]


def get_init_inputs():
    return []
