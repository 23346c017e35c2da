# task: ew_exp
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: min(1024, triton.next_power_of_2(args["n"]))})
@triton.jit
def sized(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    base = tl.program_id(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + base + lane, mask=base + lane < n).to(tl.float32)
    tl.store(y_ptr + base + lane, tl.exp(v), mask=base + lane < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        sized[lambda m: (triton.cdiv(x.numel(), m["BLOCK"]),)](x, y, x.numel())
        return y
