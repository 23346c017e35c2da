# task: mat_mm
# expect: library_only|cheat
# expect_gpu: wrong|cheat|library_only
# id: A27, B25
# source: CUDA-Agent#16, P09
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
