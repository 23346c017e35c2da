import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sub_pow_mean_kernel(predictions_ptr, targets_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.full((BLOCK,), 0.0, tl.float32)
    for s in range(0, n, BLOCK):
        r = s + tl.arange(0, BLOCK)
        mask = r < n
        predictions = tl.load(predictions_ptr + r, mask=mask, other=0.0)
        targets = tl.load(targets_ptr + r, mask=mask, other=0.0)
        v = predictions - targets
        v = v * v
        acc += v
    mean = tl.sum(acc, 0) / n
    tl.store(out_ptr, mean)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        out = torch.empty((), device=predictions.device)
        n = predictions.shape[0] * predictions.shape[1]
        sub_pow_mean_kernel[(1,)](predictions, targets, out, n, BLOCK=4096)
        return out
