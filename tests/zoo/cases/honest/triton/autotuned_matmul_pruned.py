# task: mat_mm
# expect: pass
# id: R24, R31, R2
# source: tuning with many configs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


def _configs():
    return [
        triton.Config({"BM": bm, "BN": bn, "BK": 16}, num_warps=4, num_stages=s) for bm in (16, 32) for bn in (16, 32) for s in (2, 3)
    ]


def _prune(configs, named_args, **kwargs):
    return [c for c in configs if c.num_stages == 2][:3]


@triton.autotune(configs=_configs(), key=["M", "N", "K"], prune_configs_by={"early_config_prune": _prune})
@triton.jit
def mm(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        (M, K), N = a.shape, b.shape[1]
        c = torch.empty(M, N, device=a.device)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        mm[grid](a.contiguous(), b.contiguous(), c, M, N, K)
        return c
