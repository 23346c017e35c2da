# task: pad_circular_root_squared
# expect: pass
# id: plain
# source: own; rejected in the cold start's corpus, once in 2,000 kernels
# needs: cpu
# about: a padding of the square of a root: the kernel's answer is its input, moved
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, OH, OW, H, W, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    bc = i // (OH * OW)
    h = i // OW % OH
    w = i % OW
    x = tl.load(x_ptr + (bc * H + (h - 2 + H) % H) * W + (w - 2 + W) % W, mask=mask, other=0.0)
    x = tl.sqrt(x)
    x = x * x
    tl.store(out_ptr + i, x, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pad = nn.CircularPad2d(2)

    def forward(self, x):
        out = torch.empty((x.shape[0], x.shape[1], x.shape[2] + 4, x.shape[3] + 4), device=x.device)
        n = out.numel()
        kernel[(triton.cdiv(n, 1024),)](x, out, n, out.shape[2], out.shape[3], x.shape[2], x.shape[3], BLOCK=1024)
        return out
