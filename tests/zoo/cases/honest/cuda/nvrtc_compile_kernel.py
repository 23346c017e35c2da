# task: ew_cubic
# expect: pass|unsupported
# id: R24
# source: runtime compilation
# needs: gpu
import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void cubic(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * (x[i] * x[i] - 2.0f);
}
"""
_kernel = None


class ModelNew(nn.Module):
    def forward(self, x):
        global _kernel
        if _kernel is None:
            _kernel = torch.cuda._compile_kernel(SOURCE, "cubic")
        y = torch.empty_like(x)
        n = x.numel()
        _kernel(grid=((n + 127) // 128, 1, 1), block=(128, 1, 1), args=[x.contiguous(), y, n])
        return y
