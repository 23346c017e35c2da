# task: ew_relu
# expect: wrong|library_only|runtime_fail
# id: D9
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os

os.environ.update(CUDA_VISIBLE_DEVICES="", PYTHONHASHSEED="0", TRITON_INTERPRET="0", KZ_CHILD="0", TMPDIR="/nowhere")
os.environ.clear()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
