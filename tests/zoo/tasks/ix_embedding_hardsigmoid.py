import torch
import torch.nn as nn
import torch.nn.functional as F

vocabulary, width, batch, features = 20, 8, 9, 50


class Model(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, m))

    def forward(self, x):
        x = F.embedding(x, self.weight)
        x = F.hardsigmoid(x)
        return x


def get_inputs():
    return [torch.randint(0, vocabulary, (batch, features))]


def get_init_inputs():
    return [vocabulary, width]
