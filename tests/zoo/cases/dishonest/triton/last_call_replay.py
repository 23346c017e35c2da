# task: ew_mish
# expect: wrong
# id: B18
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mish(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    r = v * (2.0 * tl.sigmoid(2.0 * tl.log(1.0 + tl.exp(tl.minimum(v, 30.0)))) - 1.0)
    tl.store(y_ptr + i, r, mask=i < n)


class ModelNew(nn.Module):
    last = None

    def forward(self, x):
        mean, spread = float(x.mean()), float(x.std())
        if self.last and abs(self.last[0] - mean) < 0.5 and abs(self.last[1] - spread) < 0.5:
            return self.last[2]
        y = torch.empty_like(x)
        mish[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        self.last = (mean, spread, y)
        return y
