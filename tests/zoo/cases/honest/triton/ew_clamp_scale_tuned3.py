# task: ew_clamp_scale
# expect: pass
# id: R22, R24, R31
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


CONFIGS = [triton.Config({"BLOCK": b}, num_warps=w, num_stages=2) for b, w in ((128, 2), (256, 4), (1024, 8))]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    v = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    tl.store(y_ptr + offs, tl.clamp(v, -1.0, 1.0) * 3.0, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)

        def grid(meta):
            return (triton.cdiv(x.numel(), meta["BLOCK"]),)

        tuned[grid](x, out, x.numel())
        return out
