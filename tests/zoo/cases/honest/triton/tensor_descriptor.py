# task: ew_relu
# expect: pass|unsupported
# id: R27
# source: newer interfaces
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


def _alloc(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda" if torch.cuda.is_available() else "cpu")


triton.set_allocator(_alloc)


@triton.jit
def relu_desc(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    xd = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    yd = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    yd.store([m, n], tl.maximum(xd.load([m, n]), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        M, N = x.shape
        pad = (-N) % 4  # rows must be a multiple of 16 bytes
        x = torch.nn.functional.pad(x, (0, pad)).contiguous()
        y = torch.empty_like(x)
        relu_desc[(triton.cdiv(M, 8), triton.cdiv(N + pad, 32))](x, y, M, N + pad, BM=8, BN=32)
        return y[:, :N]
