# task: ew_relu
# expect: wrong|library_only|runtime_fail
# id: B5
# source: pygpubench exploits
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, x):
        found = 0
        try:
            with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
                for line in maps:
                    start, end = (int(p, 16) for p in line.split()[0].split("-"))
                    if "rw" in line and end - start < 1 << 24:
                        memory.seek(start)
                        found += memory.read(end - start).count(b"exact")
        except OSError:
            pass
        return torch.full_like(x, float(found))
