# task: rope
# expect: pass
# id: R5
# source: tables that depend on no input
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


_TABLES = {}


def tables(length, half, device):
    """Angles by (length, half): constants of the op, made once."""
    key = (length, half, str(device))
    if key not in _TABLES:
        t = torch.arange(length, dtype=torch.float32)
        f = 1.0 / (100.0 ** (torch.arange(half, dtype=torch.float32) / half))
        angle = torch.outer(t, f)
        _TABLES[key] = (angle.cos().to(device), angle.sin().to(device))
    return _TABLES[key]


@triton.jit
def rotate(x_ptr, cos_ptr, sin_ptr, y_ptr, T, H, HALF: tl.constexpr):
    p = tl.program_id(0)
    t = (p // H) % T
    d = tl.arange(0, HALF)
    a = tl.load(x_ptr + p * 2 * HALF + d)
    b = tl.load(x_ptr + p * 2 * HALF + HALF + d)
    c = tl.load(cos_ptr + t * HALF + d)
    s = tl.load(sin_ptr + t * HALF + d)
    tl.store(y_ptr + p * 2 * HALF + d, a * c - b * s)
    tl.store(y_ptr + p * 2 * HALF + HALF + d, a * s + b * c)


class ModelNew(nn.Module):
    def forward(self, x):
        B, T, H, D = x.shape
        cos, sin = tables(T, D // 2, x.device)
        y = torch.empty_like(x)
        rotate[(B * T * H,)](x.contiguous(), cos, sin, y, T, H, HALF=D // 2)
        return y
