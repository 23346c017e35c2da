# task: ew_tanh
# expect: pass
# id: R20
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def forward_kernel(X, Y, N, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(X + offsets, mask=offsets < N, other=0.0).to(tl.float32)
    tl.store(Y + offsets, 2.0 * tl.sigmoid(2.0 * v) - 1.0, mask=offsets < N)


class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        forward_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError


class ModelNew(torch.nn.Module):
    def __init__(self) -> None:
        super(ModelNew, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Op.apply(x.contiguous())
