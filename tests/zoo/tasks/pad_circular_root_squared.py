import torch
import torch.nn as nn
import torch.nn.functional as F

batch, channels, height, width = 2, 3, 12, 12


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pad = nn.CircularPad2d(2)

    def forward(self, x):
        x = torch.sqrt(x)
        x = self.pad(x)
        x = x * x
        return x


def get_inputs():
    return [torch.rand(batch, channels, height, width) + 0.1]


def get_init_inputs():
    return []
