# task: ragged
# expect: pass
# id: R6
# source: integer inputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ragged_mean(x_ptr, len_ptr, y_ptr, T, D, B: tl.constexpr):
    b = tl.program_id(0)
    d = tl.arange(0, B)
    length = tl.load(len_ptr + b)
    acc = tl.zeros((B,), tl.float32)
    for t in range(T):
        acc += tl.load(x_ptr + (b * T + t) * D + d, mask=(d < D) & (t < length), other=0.0)
    tl.store(y_ptr + b * D + d, acc / length, mask=d < D)


class ModelNew(nn.Module):
    def forward(self, x, lengths):
        N, T, D = x.shape
        y = torch.empty(N, D, device=x.device)
        ragged_mean[(N,)](x.contiguous(), lengths, y, T, D, B=8)
        return y
