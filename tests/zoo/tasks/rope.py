import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        half = x.shape[-1] // 2
        t = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
        f = 1.0 / (100.0 ** (torch.arange(half, device=x.device, dtype=torch.float32) / half))
        angle = (t[:, None] * f[None, :])[None, :, None, :]
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def get_inputs():
    return [torch.randn(2, 9, 3, 8)]


def get_init_inputs():
    return []
