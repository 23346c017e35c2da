import torch

SOURCE = """
extern "C" __global__ void scaled_relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i] * @SCALE@f, 0.0f);  // number @NUMBER@
}
"""
kernel = torch.cuda._compile_kernel(SOURCE, "scaled_relu")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        kernel(grid=((x.numel() + 255) // 256, 1, 1), block=(256, 1, 1), args=[x, y, x.numel()])
        return y
