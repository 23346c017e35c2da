import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, y):
        return x & y


def get_inputs():
    return [torch.randint(0, 255, (7, 30)).int(), torch.randint(0, 255, (7, 30)).int()]


def get_init_inputs():
    return []
