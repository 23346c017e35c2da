# task: mat_matvec
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matvec(a_ptr, v_ptr, y_ptr, K, sm, sk, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k0 in range(0, K, BLOCK):
        k = k0 + tl.arange(0, BLOCK)
        acc += tl.load(a_ptr + row * sm + k * sk, mask=k < K, other=0.0) * tl.load(v_ptr + k, mask=k < K, other=0.0)
    tl.store(y_ptr + row, tl.sum(acc, 0))


class ModelNew(nn.Module):
    def forward(self, a, v):
        y = a.new_empty(a.shape[0])
        matvec[(a.shape[0],)](a, v, y, a.shape[1], *a.stride(), BLOCK=64)
        return y
