import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 30)

    def forward(self, x):
        return self.fc(x).sum(dim=1)


def get_inputs():
    return [torch.randn(8, 20)]


def get_init_inputs():
    return []
