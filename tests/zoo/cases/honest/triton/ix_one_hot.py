# task: ix_one_hot
# expect: pass
# id: R6, R13
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def one_hot(idx_ptr, y_ptr, classes, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    label = tl.load(idx_ptr + i)
    tl.store(y_ptr + i * classes + c, (c == label).to(tl.int64), mask=c < classes)


class ModelNew(nn.Module):
    def forward(self, idx):
        y = torch.empty((*idx.shape, 7), dtype=torch.int64, device=idx.device)
        one_hot[(idx.numel(),)](idx.contiguous(), y, 7, BLOCK=8)
        return y
