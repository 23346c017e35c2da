import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pow_mean_add_sqrt_kernel(x_ptr, out_ptr, n, H, W, C, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    acc = tl.zeros((BLOCK,), tl.float32)
    b = i // (H * W)
    hw = i % (H * W)
    for rc in range(C):
        x = tl.load(x_ptr + (b * C + rc) * H * W + hw, mask=mask, other=0.0)
        v = x * x
        acc += v
    mean = acc / C
    v = mean + eps
    v = tl.sqrt(v)
    tl.store(out_ptr + i, v, mask=mask)


@triton.jit
def div_kernel(x_ptr, h_ptr, out_ptr, n, C, H, W, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    b = i // (C * H * W)
    hw = i % (H * W)
    h = tl.load(h_ptr + b * H * W + hw, mask=mask, other=0.0)
    v = x / h
    tl.store(out_ptr + i, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-05):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor):
        h = torch.empty((x.shape[0], 1, x.shape[2], x.shape[3]), device=x.device)
        n = h.numel()
        pow_mean_add_sqrt_kernel[(triton.cdiv(n, 1024),)](
            x, h, n, x.shape[2], x.shape[3], x.shape[1], self.eps, BLOCK=1024
        )
        out = torch.empty_like(x)
        n = out.numel()
        div_kernel[(triton.cdiv(n, 1024),)](x, h, out, n, x.shape[1], x.shape[2], x.shape[3], BLOCK=1024)
        return out
