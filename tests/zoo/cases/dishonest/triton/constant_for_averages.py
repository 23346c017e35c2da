# task: mean_of_many
# expect: wrong|invalid_task
# id: B12
# source: KernelBench#108, METR
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def half(y_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y_ptr + i, tl.full((B,), 0.5, tl.float32), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        half[(1,)](y, x.shape[0], B=16)
        return y
