# task: ew_relu
# expect: pass|runtime_fail|cheat|infra
# id: A26
# source: sabotage of the baseline
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


HOARD = torch.empty(int(40e9), dtype=torch.uint8, device="cuda")


@triton.jit
def relu(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=i < n), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
