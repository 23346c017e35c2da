# task: ew_sigmoid
# expect: pass
# id: plain
# source: torch.library
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def logistic(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, 1.0 / (1.0 + tl.exp(-v)), mask=i < n)


@torch.library.custom_op("zoo_ops::logistic", mutates_args=())
def logistic_op(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    logistic[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.zoo_ops.logistic(x)
