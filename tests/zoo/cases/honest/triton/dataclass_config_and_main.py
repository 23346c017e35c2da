# task: ew_elu
# expect: pass
# id: plain
# source: ordinary style
# needs: cpu
from __future__ import annotations

import argparse
import dataclasses
import math
from enum import Enum
from typing import Optional

import torch
import torch.nn as nn
import triton
import triton.language as tl


class Variant(Enum):
    SMALL = 64
    LARGE = 256


@dataclasses.dataclass(frozen=True)
class Launch:
    block: int
    warps: int = 4

    def grid(self, n: int) -> tuple[int]:
        return (math.ceil(n / self.block),)


@triton.jit
def elu_kernel(x_ptr, y_ptr, n, alpha, BLOCK: tl.constexpr):
    """ELU with slope alpha below zero."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.where(v > 0, v, alpha * (tl.exp(tl.minimum(v, 0.0)) - 1.0)), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, launch: Optional[Launch] = None):
        super().__init__()
        self.launch = launch or Launch(Variant.SMALL.value)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        n = x.numel()
        elu_kernel[self.launch.grid(n)](x, y, n, 1.5, BLOCK=self.launch.block, num_warps=self.launch.warps)
        return y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=8)
    print(ModelNew()(torch.randn(parser.parse_args().n)))


if __name__ == "__main__":
    main()
