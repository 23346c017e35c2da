# task: ew_exp
# expect: pass
# id: R21
# source: a side stream that is waited for
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exponential(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.exp(tl.load(x_ptr + i, mask=i < n).to(tl.float32)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        side, main = torch.cuda.Stream(), torch.cuda.current_stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            exponential[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        main.wait_stream(side)
        return y
