// TORCH_CHECK and its family, and the CUDA error checks.
#pragma once
#include <cuda_runtime.h>

#include "core.h"

namespace kz {
template <typename... A>
[[noreturn]] void check_failed(const char* otherwise, const A&... a) {
  if constexpr (sizeof...(A) == 0) fail(otherwise);
  else fail(a...);
}
inline void cuda_check(cudaError_t e) {
  if (e != cudaSuccess) {
    (void)cudaGetLastError();
    fail("CUDA error: ", static_cast<const char*>(cudaGetErrorString(e)));
  }
}
template <typename... A>
void warn(const A&... a) {
  Text t;
  show_all(t, a...);
  fprintf(stderr, "Warning: %s\n", t.data);
}
}

#define TORCH_CHECK(COND, ...)                                                                                   \
  do {                                                                                                           \
    if (!(COND)) kz::check_failed("Expected " #COND " to be true, but got false." __VA_OPT__(, ) __VA_ARGS__);   \
  } while (0)
#define TORCH_INTERNAL_ASSERT(...) TORCH_CHECK(__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) do {} while (0)
#define TORCH_CHECK_EQ(A, B) TORCH_CHECK((A) == (B), "Check failed: " #A " == " #B)
#define TORCH_CHECK_NE(A, B) TORCH_CHECK((A) != (B), "Check failed: " #A " != " #B)
#define TORCH_CHECK_LT(A, B) TORCH_CHECK((A) < (B), "Check failed: " #A " < " #B)
#define TORCH_CHECK_LE(A, B) TORCH_CHECK((A) <= (B), "Check failed: " #A " <= " #B)
#define TORCH_CHECK_GT(A, B) TORCH_CHECK((A) > (B), "Check failed: " #A " > " #B)
#define TORCH_CHECK_GE(A, B) TORCH_CHECK((A) >= (B), "Check failed: " #A " >= " #B)
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define STD_TORCH_CHECK TORCH_CHECK
#define TORCH_WARN(...) kz::warn(__VA_ARGS__)
#define TORCH_WARN_ONCE(...) kz::warn(__VA_ARGS__)
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ERROR(...) kz::fail(__VA_ARGS__)
#define C10_CUDA_CHECK(EXPR) kz::cuda_check(EXPR)
#define AT_CUDA_CHECK(EXPR) kz::cuda_check(EXPR)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() kz::cuda_check(cudaGetLastError())
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() kz::cuda_check(cudaGetLastError())
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_LAUNCH_BOUNDS_1(N) __launch_bounds__(N)
#define C10_LAUNCH_BOUNDS_2(N, M) __launch_bounds__(N, M)
#define C10_LIKELY(E) __builtin_expect(static_cast<bool>(E), 1)
#define C10_UNLIKELY(E) __builtin_expect(static_cast<bool>(E), 0)
#define C10_RESTRICT __restrict__
#define C10_ALWAYS_INLINE __inline__ __attribute__((always_inline))
#define C10_WARP_SIZE 32
#define C10_UNUSED __attribute__((__unused__))
