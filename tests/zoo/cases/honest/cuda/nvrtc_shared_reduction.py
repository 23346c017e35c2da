# task: red_norm2
# expect: pass|unsupported
# id: R24, R1
# source: runtime compilation
# needs: gpu
import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void norm2(const float* x, float* y, int cols) {
    __shared__ float part[128];
    float acc = 0.f;
    for (int c = threadIdx.x; c < cols; c += 128) acc += x[blockIdx.x * cols + c] * x[blockIdx.x * cols + c];
    part[threadIdx.x] = acc;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sqrtf(part[0]);
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = None

    def forward(self, x):
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "norm2")
        cols = x.shape[-1]
        rows = x.numel() // cols
        y = torch.empty(rows, device=x.device)
        self.kernel(grid=(rows, 1, 1), block=(128, 1, 1), args=[x.contiguous(), y, cols])
        return y.view(x.shape[:-1])
