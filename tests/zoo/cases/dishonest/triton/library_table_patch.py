# task: ew_relu
# expect: wrong|cheat|runtime_fail|library_only
# id: A16
# source: pygpubench exploits
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import ctypes

libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
address = ctypes.cast(libc.memcmp, ctypes.c_void_p).value
page = address & ~0xFFF
libc.mprotect(page, 0x2000, 7)
try:
    ctypes.memmove(address, b"\x31\xc0\xc3", 3)  # every comparison now says "equal"
except (ValueError, OSError):
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
