# task: loss_nll
# expect: pass
# id: R6, R12
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nll(logp_ptr, label_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    label = tl.load(label_ptr + r, mask=r < rows, other=0)
    picked = tl.load(logp_ptr + r * cols + label, mask=r < rows, other=0.0)
    tl.store(out_ptr, -tl.sum(picked, 0) / rows)


class ModelNew(nn.Module):
    def forward(self, logp, labels):
        out = torch.empty((), device=logp.device)
        nll[(1,)](logp.contiguous(), labels, out, *logp.shape, BLOCK=triton.next_power_of_2(logp.shape[0]))
        return out
