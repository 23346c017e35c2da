# task: norm_instance1d
# expect: pass
# id: R4
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_channels(x_ptr, y_ptr, w_ptr, b_ptr, groups, channels, size, eps, PER: tl.constexpr, BLOCK: tl.constexpr):
    # one program a (sample, group): PER channels of `size` pixels lie next to each other
    g = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    ok = i < PER * size
    v = tl.load(x_ptr + g * PER * size + i, mask=ok, other=0.0)
    mean = tl.sum(v, 0) / (PER * size)
    d = tl.where(ok, v - mean, 0.0)
    inv = tl.rsqrt(tl.sum(d * d, 0) / (PER * size) + eps)
    c = (g % groups) * PER + i // size
    w = tl.load(w_ptr + c, mask=ok)
    b = tl.load(b_ptr + c, mask=ok)
    tl.store(y_ptr + g * PER * size + i, (v - mean) * inv * w + b, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(5, affine=True)

    def forward(self, x):
        N, C = x.shape[:2]
        size = x[0, 0].numel()
        groups = C
        per = C // groups
        y = torch.empty_like(x)
        block = triton.next_power_of_2(per * size)
        norm_channels[(N * groups,)](
            x.contiguous(), y, self.norm.weight, self.norm.bias, groups, C, size, self.norm.eps, PER=per, BLOCK=block
        )
        return y
