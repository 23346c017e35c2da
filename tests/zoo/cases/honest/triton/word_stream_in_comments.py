# task: ew_gaussian
# expect: pass
# id: R21, R3
# source: KernelBench#82, kernelbot#374
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


# Streams x through registers; the upstream scale is folded in. No threading, no eval() here, time.time() unused.
STREAM_BLOCK = 128  # "torch.cuda.Stream" in a comment is not a stream


@triton.jit
def streaming_bell(x_ptr, y_ptr, n, B: tl.constexpr):
    """Downstream of nothing: exp(-x^2 / 2)."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.exp(-0.5 * v * v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        if x.is_cuda:
            stream = torch.cuda.current_stream()  # the caller's own stream
            assert stream is not None
        streaming_bell[(triton.cdiv(x.numel(), STREAM_BLOCK),)](x, y, x.numel(), B=STREAM_BLOCK)
        return y
