# task: tensor_list
# expect: pass
# id: R11
# source: grouped kernels take addresses
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighted(table_ptr, w_ptr, y_ptr, n, COUNT: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tl.static_range(COUNT):
        part = tl.load(table_ptr + k).to(tl.pointer_type(tl.float32))
        acc += tl.load(w_ptr + k) * tl.load(part + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, acc, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, parts, weights):
        parts = [p.contiguous() for p in parts]
        table = torch.tensor([p.data_ptr() for p in parts], dtype=torch.int64, device=weights.device)
        y = torch.empty_like(parts[0])
        weighted[(triton.cdiv(y.numel(), 64),)](table, weights, y, y.numel(), COUNT=len(parts), B=64)
        return y
