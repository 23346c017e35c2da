# task: ew_relu
# expect: timeout
# id: D15, P16
# source: emmy#215, flashinfer-bench#49
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


while True:
    pass
