import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, lengths):
        keep = torch.arange(x.shape[1], device=x.device)[None, :] < lengths[:, None]
        return (x * keep[..., None]).sum(1) / lengths[:, None]


def get_inputs():
    return [torch.randn(4, 20, 6), torch.tensor([20, 3, 11, 1])]


def get_init_inputs():
    return []
