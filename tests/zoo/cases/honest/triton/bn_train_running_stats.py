# task: bn_train
# expect: pass
# id: R8, R4
# source: running statistics changed by a first call
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bn_channel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, var_ptr, N, C, S, momentum, eps, B: tl.constexpr):
    c = tl.program_id(0)
    i = tl.arange(0, B)
    n = N * S
    ok = i < n
    at = (i // S) * C * S + c * S + i % S
    v = tl.load(x_ptr + at, mask=ok, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(ok, v - mean, 0.0)
    var = tl.sum(d * d, 0) / n
    y = d * tl.rsqrt(var + eps) * tl.load(w_ptr + c) + tl.load(b_ptr + c)
    tl.store(y_ptr + at, y, mask=ok)
    tl.store(mean_ptr + c, (1 - momentum) * tl.load(mean_ptr + c) + momentum * mean)
    tl.store(var_ptr + c, (1 - momentum) * tl.load(var_ptr + c) + momentum * var * n / (n - 1))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        bn = self.bn
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        bn_channel[(C,)](
            x.contiguous(), y, bn.weight, bn.bias, bn.running_mean, bn.running_var, N, C, H * W, bn.momentum, bn.eps,
            B=triton.next_power_of_2(N * H * W),
        )
        bn.num_batches_tracked += 1
        return y
