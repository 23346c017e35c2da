import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, a, b):
        return (a.int() * b.int()).sum(1)


def get_inputs():
    return [torch.randint(-128, 127, (12, 64), dtype=torch.int8), torch.randint(-128, 127, (64,), dtype=torch.int8)]


def get_init_inputs():
    return []
