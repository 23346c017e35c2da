import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.full((BLOCK,), 0.0, tl.float32)
    for s in range(0, n, BLOCK):
        r = s + tl.arange(0, BLOCK)
        mask = r < n
        x = tl.load(x_ptr + row * n + r, mask=mask, other=0.0)
        acc += x
    mean = tl.sum(acc, 0) / n
    acc2 = tl.full((BLOCK,), 0.0, tl.float32)
    for s in range(0, n, BLOCK):
        r = s + tl.arange(0, BLOCK)
        mask = r < n
        x = tl.load(x_ptr + row * n + r, mask=mask, other=0.0)
        d = x - mean
        acc2 += tl.where(mask, d * d, 0.0)
    var = tl.sum(acc2, 0) / n
    scale = tl.rsqrt(var + 1e-05)
    for s in range(0, n, BLOCK):
        r = s + tl.arange(0, BLOCK)
        mask = r < n
        x = tl.load(x_ptr + row * n + r, mask=mask, other=0.0)
        d = x - mean
        w = tl.load(w_ptr + r, mask=mask, other=0.0)
        b = tl.load(b_ptr + r, mask=mask, other=0.0)
        v = d * scale * w + b
        tl.store(out_ptr + row * n + r, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor):
        out = torch.empty_like(x)
        n = x.shape[1] * x.shape[2] * x.shape[3]
        layer_norm_kernel[(x.shape[0],)](x, self.ln.weight, self.ln.bias, out, n, BLOCK=4096)
        return out
