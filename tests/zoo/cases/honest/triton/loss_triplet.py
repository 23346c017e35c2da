# task: loss_triplet
# expect: pass
# id: R1, R12
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def triplet(a_ptr, p_ptr, n_ptr, out_ptr, cols, margin, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    keep = c < cols
    a = tl.load(a_ptr + row * cols + c, mask=keep, other=0.0)
    dp = tl.where(keep, a - tl.load(p_ptr + row * cols + c, mask=keep, other=0.0) + 1e-6, 0.0)
    dn = tl.where(keep, a - tl.load(n_ptr + row * cols + c, mask=keep, other=0.0) + 1e-6, 0.0)
    loss = tl.sqrt(tl.sum(dp * dp, 0)) - tl.sqrt(tl.sum(dn * dn, 0)) + margin
    tl.store(out_ptr + row, tl.maximum(loss, 0.0))


class ModelNew(nn.Module):
    margin = 1.0

    def forward(self, anchor, positive, negative):
        rows, cols = anchor.shape
        out = torch.empty(rows, device=anchor.device)
        triplet[(rows,)](anchor, positive, negative, out, cols, self.margin, BLOCK=triton.next_power_of_2(cols))
        return out.mean()
