# task: ew_sin_scaled
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _act(v):
    return tl.sin(2.0 * v) * 0.5


@triton.jit
def apply_act(inp, out, count, BLOCK: tl.constexpr):
    idx = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    keep = idx < count
    val = tl.load(inp + idx, mask=keep, other=0).to(tl.float32)
    tl.store(out + idx, _act(val), mask=keep)


def run_act(t):
    out = torch.empty_like(t, memory_format=torch.contiguous_format)
    apply_act[(triton.cdiv(t.numel(), 512),)](t.contiguous(), out, t.numel(), BLOCK=512)
    return out


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = run_act

    def forward(self, x):
        return self.op(x)
