# task: ew_tanh
# expect: pass
# id: R21
# source: KernelBench static rules
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


try:
    from triton.language.extra import libdevice
except ImportError:  # very old versions keep it elsewhere
    from triton.language.extra.cuda import libdevice


class Settings:
    pass


@triton.jit
def tanh_kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, libdevice.tanh(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        try:
            tanh_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        except ValueError as error:
            raise RuntimeError("launch failed") from error
        finally:
            pass
        return y
