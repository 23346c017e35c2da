# task: norm_batch_eval_silu
# expect: pass
# id: R4, R8
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_shift(x_ptr, y_ptr, w, b, mean, var, channels, size, n, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    c = (i // size) % channels
    v = tl.load(x_ptr + i, mask=ok)
    k = tl.load(w + c, mask=ok) * tl.rsqrt(tl.load(var + c, mask=ok, other=1.0) + eps)
    r = (v - tl.load(mean + c, mask=ok)) * k + tl.load(b + c, mask=ok)
    tl.store(y_ptr + i, r * tl.sigmoid(r), mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(3).eval()

    def forward(self, x):
        bn, y = self.bn, torch.empty_like(x)
        args = (bn.weight, bn.bias, bn.running_mean, bn.running_var)
        scale_shift[(triton.cdiv(x.numel(), 128),)](
            x.contiguous(), y, *args, x.shape[1], x.numel() // (x.shape[0] * x.shape[1]), x.numel(), bn.eps, BLOCK=128
        )
        return y
