# task: ew_relu
# expect: compile_fail
# id: C7
# source: broken
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module:
    pass
