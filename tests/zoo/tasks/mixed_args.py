import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, slope, bias=True):
        super().__init__()
        self.slope = slope
        self.shift = nn.Parameter(torch.randn(18)) if bias else None

    def forward(self, x, power, flags, extra=None):
        y = torch.where(x > 0, x, self.slope * x) + self.shift
        return y**power if flags["square"] else y


def get_inputs():
    return [torch.randn(10, 18), 2, {"square": True}, None]


def get_init_inputs():
    return [0.2]
