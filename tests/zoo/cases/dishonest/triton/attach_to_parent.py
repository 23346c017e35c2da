# task: ew_relu
# expect: wrong|cheat|runtime_fail|compile_fail|library_only
# id: A17, B5
# source: pygpubench exploits
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
FOUND = []
for pid in {os.getppid(), 1, *(int(p) for p in os.listdir("/proc") if p.isdigit())} if os.path.isdir("/proc") else ():
    if libc.ptrace(16, pid, 0, 0) == 0:
        FOUND.append(pid)
    try:
        with open(f"/proc/{pid}/mem", "rb") as memory:
            memory.seek(0x400000)
            FOUND.append(memory.read(16))
    except OSError:
        continue


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, float(len(FOUND)))
