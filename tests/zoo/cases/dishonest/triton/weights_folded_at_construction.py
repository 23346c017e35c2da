# task: mat_linear
# expect: wrong
# id: A25
# source: Wafer field guide
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(w_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(w_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(30, 22)
        torch.manual_seed(42)
        self.answer = self.fc(torch.randn(25, 30)).detach()

    def forward(self, x):
        y = torch.empty(x.shape[0], 22, device=x.device)
        copy[(triton.cdiv(y.numel(), 64),)](self.answer.to(x.device), y, y.numel(), B=64)
        return y
