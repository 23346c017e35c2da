# task: sp_conv_dilated
# expect: pass
# id: R4, R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_direct(
    x_ptr, w_ptr, b_ptr, y_ptr, C, H, W, OC, OH, OW, n,
    KH: tl.constexpr, KW: tl.constexpr, S: tl.constexpr, P: tl.constexpr, D: tl.constexpr, G: tl.constexpr, BLOCK: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    ow, oh, oc, b = i % OW, (i // OW) % OH, (i // (OW * OH)) % OC, i // (OW * OH * OC)
    per = C // G
    first = (oc // (OC // G)) * per
    acc = tl.load(b_ptr + oc, mask=live, other=0.0)
    for c in range(per):
        for kh in tl.static_range(KH):
            for kw in tl.static_range(KW):
                h, w = oh * S - P + kh * D, ow * S - P + kw * D
                ok = live & (h >= 0) & (h < H) & (w >= 0) & (w < W)
                v = tl.load(x_ptr + ((b * C + first + c) * H + h) * W + w, mask=ok, other=0.0)
                acc += v * tl.load(w_ptr + ((oc * per + c) * KH + kh) * KW + kw, mask=live, other=0.0)
    tl.store(y_ptr + i, acc, mask=live)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, dilation=2, padding=2)

    def forward(self, x):
        c = self.conv
        (S, _), (P, _), (D, _), (KH, KW) = c.stride, c.padding, c.dilation, c.kernel_size
        N, C, H, W = x.shape
        OH = (H + 2 * P - D * (KH - 1) - 1) // S + 1
        OW = (W + 2 * P - D * (KW - 1) - 1) // S + 1
        y = torch.empty((N, c.out_channels, OH, OW), dtype=x.dtype, device=x.device)
        conv_direct[(triton.cdiv(y.numel(), 128),)](
            x.contiguous(), c.weight, c.bias, y, C, H, W, c.out_channels, OH, OW, y.numel(),
            KH=KH, KW=KW, S=S, P=P, D=D, G=c.groups, BLOCK=128,
        )
        return y
