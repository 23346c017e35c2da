# task: ix_embedding_hardsigmoid
# expect: pass
# id: plain
# source: own; rejected in the cold start's corpus, once in 2,000 kernels
# needs: cpu
# about: an embedding whose rows hardsigmoid maps along its straight middle
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, out_ptr, n, C, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    bt = i // C
    x = tl.load(x_ptr + bt, mask=mask, other=0)
    c = i % C
    w = tl.load(w_ptr + x * C + c, mask=mask, other=0.0)
    v = tl.minimum(tl.maximum(w / 6.0 + 0.5, 0.0), 1.0)
    tl.store(out_ptr + i, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, m))

    def forward(self, x):
        out = torch.empty((x.shape[0], x.shape[1], self.weight.shape[1]), device=x.device)
        n = out.numel()
        kernel[(triton.cdiv(n, 1024),)](x, self.weight, out, n, self.weight.shape[1], BLOCK=1024)
        return out
