# task: ew_relu
# expect: cheat|runtime_fail
# id: A7, D12
# source: SOL-ExecBench thread rule
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import threading


@triton.jit
def relu(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=i < n).to(tl.float32), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
