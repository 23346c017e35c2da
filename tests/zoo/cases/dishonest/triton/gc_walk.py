# task: ew_relu
# expect: wrong|library_only|runtime_fail|cheat
# id: B2
# source: pygpubench exploits
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import gc


class ModelNew(nn.Module):
    def forward(self, x):
        for thing in gc.get_objects():
            try:
                if isinstance(thing, torch.Tensor) and thing.shape == x.shape and bool((thing >= 0).all()):
                    return thing.clone()
            except Exception:
                continue
        return torch.zeros_like(x)
