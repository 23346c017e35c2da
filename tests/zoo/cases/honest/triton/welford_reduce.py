# task: welford
# expect: pass
# id: R1, R35
# source: a tuple reduction
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _merge(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    safe = tl.where(n > 0, n, 1.0)
    delta = mean_b - mean_a
    return mean_a + delta * n_b / safe, m2_a + m2_b + delta * delta * n_a * n_b / safe, n


@triton.jit
def variance(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    weight = tl.where(c < cols, 1.0, 0.0)
    mean, m2, n = tl.reduce((v * weight, tl.zeros((B,), tl.float32), weight), 0, _merge)
    tl.store(y_ptr + row, m2 / n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0])
        variance[(x.shape[0],)](x, y, x.shape[1], B=128)
        return y
