import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, p, t):
        return F.kl_div(p, t, reduction="sum")


def get_inputs():
    return [torch.rand(12, 25) * 0.9 + 0.05, torch.rand(12, 25) * 0.9 + 0.05]


def get_init_inputs():
    return []
