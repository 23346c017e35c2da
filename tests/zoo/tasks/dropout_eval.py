import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.4)
        self.eval()

    def forward(self, x):
        return self.drop(torch.tanh(x)) * 2


def get_inputs():
    return [torch.randn(10, 12)]


def get_init_inputs():
    return []
