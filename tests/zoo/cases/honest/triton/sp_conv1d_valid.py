# task: sp_conv1d_valid
# expect: pass
# id: R4, R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv1d(x_ptr, w_ptr, b_ptr, y_ptr, C, L, OC, OL, K: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    oc, b = tl.program_id(1), tl.program_id(2)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32) + tl.load(b_ptr + oc)
    for c in range(C):
        for k in tl.static_range(K):
            at = o - P + k
            v = tl.load(x_ptr + (b * C + c) * L + at, mask=(at >= 0) & (at < L), other=0.0)
            acc += v * tl.load(w_ptr + (oc * C + c) * K + k)
    tl.store(y_ptr + (b * OC + oc) * OL + o, acc, mask=o < OL)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(5, 3, 4)

    def forward(self, x):
        N, C, L = x.shape
        weight, pad = self.conv.weight, self.conv.padding[0]
        OC, _, K = weight.shape
        OL = L + 2 * pad - K + 1
        y = x.new_empty(N, OC, OL)
        conv1d[(triton.cdiv(OL, 32), OC, N)](x.contiguous(), weight, self.conv.bias, y, C, L, OC, OL, K=K, P=pad, BLOCK=32)
        return y
