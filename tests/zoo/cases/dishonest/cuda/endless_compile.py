# task: ew_relu
# expect: compile_timeout|compile_fail
# id: D15, D22
# source: P15: builds dominate
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="heavy",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources="""
#include <torch/extension.h>
template <int A, int B> struct F { static constexpr long v = F<A - 1, B>::v + F<A, B - 1>::v + F<A - 1, B - 1>::v; };
template <int B> struct F<0, B> { static constexpr long v = 1; };
template <int A> struct F<A, 0> { static constexpr long v = 1; };
template <> struct F<0, 0> { static constexpr long v = 1; };
template <int... I> constexpr long many(std::integer_sequence<int, I...>) { return (F<I % 700 + 100, 700>::v + ...); }
__global__ void k(float* y) { y[0] = float(many(std::make_integer_sequence<int, 4000>{})); }
torch::Tensor run(torch::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x)
