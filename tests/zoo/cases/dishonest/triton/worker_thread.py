# task: ew_relu
# expect: wrong|cheat|runtime_fail
# id: A7
# source: DeepReinforce, SOL-ExecBench, kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import threading
import time


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)

        def later():
            time.sleep(0.05)
            y.copy_(torch.relu(x))

        threading.Thread(target=later, daemon=True).start()
        return y
