# task: red_dim0_sum_atomic
# expect: wrong
# id: B36, B39, P10
# source: triton#4217, #6547
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": b}) for b in (16, 32, 64, 128)], key=["n"])
@triton.jit
def block_sum(x_ptr, y_ptr, n, cols, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1)
    tl.atomic_add(y_ptr + c, tl.sum(tl.load(x_ptr + i * cols + c, mask=i < n, other=0.0), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros(x.shape[1], device=x.device)
        block_sum[lambda meta: (triton.cdiv(x.shape[0], meta["B"]), x.shape[1])](x, y, x.shape[0], x.shape[1])
        return y
