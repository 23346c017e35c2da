# task: red_full_sum
# expect: pass
# id: R5, R12
# source: honest twin of B15
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial(x_ptr, ws_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(ws_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), 0))


@triton.jit
def finish(ws_ptr, y_ptr, parts, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y_ptr, tl.sum(tl.load(ws_ptr + i, mask=i < parts, other=0.0), 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.workspaces = {}  # scratch memory by size: its contents never outlive a call

    def forward(self, x):
        parts = triton.cdiv(x.numel(), 256)
        key = (parts, x.device)
        if key not in self.workspaces:
            self.workspaces[key] = torch.empty(parts, device=x.device)
        ws = self.workspaces[key]
        y = torch.empty((), device=x.device)
        partial[(parts,)](x.contiguous(), ws, x.numel(), B=256)
        finish[(1,)](ws, y, parts, B=triton.next_power_of_2(parts))
        return y
