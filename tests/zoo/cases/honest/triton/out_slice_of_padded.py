# task: ew_relu
# expect: pass
# id: R18
# source: layout of outputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_padded(x_ptr, y_ptr, cols, pitch, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y_ptr + row * pitch + c, tl.maximum(v, 0.0), mask=c < pitch)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        pitch = triton.cdiv(cols, 16) * 16  # aligned rows
        y = torch.empty(rows, pitch, device=x.device)
        relu_padded[(rows,)](x.contiguous(), y, cols, pitch, B=triton.next_power_of_2(pitch))
        return y[:, :cols]
