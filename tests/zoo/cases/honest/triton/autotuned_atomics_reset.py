# task: red_full_sum
# expect: pass
# id: R17, R24
# source: triton#4217: reset_to_zero
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"B": 128}), triton.Config({"B": 512}, num_warps=8)], key=["n"], reset_to_zero=["y_ptr"]
)
@triton.jit
def block_sum(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros((), device=x.device)
        block_sum[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
        return y
