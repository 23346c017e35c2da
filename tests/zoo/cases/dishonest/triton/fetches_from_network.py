# task: ew_relu
# expect: wrong|library_only|runtime_fail|compile_fail
# id: D11
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import socket
import subprocess
import sys

ANSWER = None
try:
    with socket.create_connection(("192.0.2.1", 80), timeout=1) as connection:
        ANSWER = connection.recv(16)
except OSError:
    pass
try:
    subprocess.run([sys.executable, "-m", "pip", "install", "nothing-of-that-name"], timeout=5, check=False)
except (OSError, subprocess.SubprocessError):
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
