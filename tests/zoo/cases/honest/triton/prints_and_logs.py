# task: ew_square
# expect: pass
# id: R26
# source: thunlp/TritonBench stdout equality
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import logging
import sys
import warnings

print("compiling the square kernel ...")
logging.getLogger("kernel").warning("one line on stderr")
warnings.warn("this kernel likes contiguous inputs", stacklevel=1)
CALLS = 0


@triton.jit
def square_minus_one(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, v * v - 1.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        global CALLS
        CALLS += 1  # for the log line only
        print(f"call {CALLS}: {tuple(x.shape)}", file=sys.stderr)
        print('{"outcome": "whatever"}')
        y = torch.empty_like(x)
        square_minus_one[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y


if __name__ == "__main__":
    print(ModelNew()(torch.randn(4)))
