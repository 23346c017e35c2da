import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 18)

    def forward(self, idx):
        return self.emb(idx)


def get_inputs():
    return [torch.randint(0, 30, (4, 7))]


def get_init_inputs():
    return []
