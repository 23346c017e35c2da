import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return (x.int() + 40).clamp(0, 255).to(torch.uint8)


def get_inputs():
    return [torch.randint(0, 256, (3, 20, 11), dtype=torch.uint8)]


def get_init_inputs():
    return []
