# task: sp_conv3
# expect: pass
# id: R4
# source: direct convolution
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void conv(const float* x, const float* w, const float* b, float* y, int C, int H, int W, int OC, int K, int P, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int ow = i % W, oh = (i / W) % H, oc = (i / (W * H)) % OC, s = i / (W * H * OC);
    float acc = b[oc];
    for (int c = 0; c < C; ++c)
        for (int kh = 0; kh < K; ++kh)
            for (int kw = 0; kw < K; ++kw) {
                int h = oh - P + kh, v = ow - P + kw;
                if (h >= 0 && h < H && v >= 0 && v < W)
                    acc += x[((s * C + c) * H + h) * W + v] * w[((oc * C + c) * K + kh) * K + kw];
            }
    y[i] = acc;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t pad) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), OC = w.size(0), K = w.size(2);
    auto y = torch::empty({N, OC, H, W}, x.options());
    int n = y.numel();
    conv<<<(n + 127) / 128, 128>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, H, W, OC, K, (int)pad, n);
    return y;
}
"""
ext = load_inline(
    name="conv_direct", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t pad);",
    cuda_sources=SOURCE, functions=["run"], extra_cuda_cflags=["-O3", "-lineinfo"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return ext.run(x.contiguous(), self.conv.weight, self.conv.bias, self.conv.padding[0])
