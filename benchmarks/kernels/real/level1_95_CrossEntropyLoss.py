import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def logsumexp_gather_squeeze_sub_kernel(predictions_ptr, targets_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    mask = r < n
    predictions = tl.load(predictions_ptr + row * n + r, mask=mask, other=-float("inf"))
    m = tl.max(predictions, 0)
    v = tl.exp(predictions - m)
    v = tl.sum(v, 0)
    v = tl.log(v) + m
    targets = tl.load(targets_ptr + row)
    predictions2 = tl.load(predictions_ptr + row * n + targets)
    v = v - predictions2
    tl.store(out_ptr + row, v)


@triton.jit
def mean_kernel(h_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.full((BLOCK,), 0.0, tl.float32)
    for s in range(0, n, BLOCK):
        r = s + tl.arange(0, BLOCK)
        mask = r < n
        h = tl.load(h_ptr + r, mask=mask, other=0.0)
        acc += h
    mean = tl.sum(acc, 0) / n
    tl.store(out_ptr, mean)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        h = torch.empty((predictions.shape[0],), device=predictions.device)
        n = predictions.shape[1]
        logsumexp_gather_squeeze_sub_kernel[(predictions.shape[0],)](
            predictions, targets, h, n, BLOCK=triton.next_power_of_2(n)
        )
        out = torch.empty((), device=predictions.device)
        n = predictions.shape[0]
        mean_kernel[(1,)](h, out, n, BLOCK=4096)
        return out
