import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(5, 3, 4)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(3, 5, 21)]


def get_init_inputs():
    return []
