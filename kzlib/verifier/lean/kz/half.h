// c10::Half and c10::BFloat16 as Torch defines them: storage types whose arithmetic is float arithmetic.
#pragma once
#include "core.h"
#ifdef KZ_HALF_TYPES
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace c10 {

struct alignas(2) Half {
  unsigned short x;
  struct from_bits_t {};
  static constexpr __host__ __device__ from_bits_t from_bits() { return from_bits_t(); }
  Half() = default;
  constexpr __host__ __device__ Half(unsigned short bits, from_bits_t) : x(bits) {}
  __host__ __device__ Half(float v) { __half h = __float2half(v); memcpy(&x, &h, 2); }
  __host__ __device__ operator float() const { __half h; memcpy(&h, &x, 2); return __half2float(h); }
  __host__ __device__ Half(const __half& h) { memcpy(&x, &h, 2); }
  __host__ __device__ operator __half() const { __half h; memcpy(&h, &x, 2); return h; }
};

struct alignas(2) BFloat16 {
  unsigned short x;
  struct from_bits_t {};
  static constexpr __host__ __device__ from_bits_t from_bits() { return from_bits_t(); }
  BFloat16() = default;
  constexpr __host__ __device__ BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  __host__ __device__ BFloat16(float v) { __nv_bfloat16 h = __float2bfloat16(v); memcpy(&x, &h, 2); }
  __host__ __device__ operator float() const { __nv_bfloat16 h; memcpy(&h, &x, 2); return __bfloat162float(h); }
  explicit __host__ __device__ BFloat16(const __nv_bfloat16& h) { memcpy(&x, &h, 2); }
  explicit __host__ __device__ operator __nv_bfloat16() const { __nv_bfloat16 h; memcpy(&h, &x, 2); return h; }
};

#define KZ_FLOAT_LIKE(T)                                                                                              \
  inline __host__ __device__ T operator+(const T& a, const T& b) { return T(float(a) + float(b)); }                   \
  inline __host__ __device__ T operator-(const T& a, const T& b) { return T(float(a) - float(b)); }                   \
  inline __host__ __device__ T operator*(const T& a, const T& b) { return T(float(a) * float(b)); }                   \
  inline __host__ __device__ T operator/(const T& a, const T& b) { return T(float(a) / float(b)); }                   \
  inline __host__ __device__ T operator-(const T& a) { return T(-float(a)); }                                         \
  inline __host__ __device__ T& operator+=(T& a, const T& b) { return a = a + b; }                                    \
  inline __host__ __device__ T& operator-=(T& a, const T& b) { return a = a - b; }                                    \
  inline __host__ __device__ T& operator*=(T& a, const T& b) { return a = a * b; }                                    \
  inline __host__ __device__ T& operator/=(T& a, const T& b) { return a = a / b; }                                    \
  KZ_FLOAT_LIKE_WITH(T, float, float)                                                                                 \
  KZ_FLOAT_LIKE_WITH(T, double, double)                                                                               \
  KZ_FLOAT_LIKE_WITH(T, int, T)                                                                                       \
  KZ_FLOAT_LIKE_WITH(T, int64_t, T)
#define KZ_FLOAT_LIKE_WITH(T, S, R)                                                                                   \
  inline __host__ __device__ R operator+(T a, S b) { return R(R(a) + R(b)); }                                         \
  inline __host__ __device__ R operator-(T a, S b) { return R(R(a) - R(b)); }                                         \
  inline __host__ __device__ R operator*(T a, S b) { return R(R(a) * R(b)); }                                         \
  inline __host__ __device__ R operator/(T a, S b) { return R(R(a) / R(b)); }                                         \
  inline __host__ __device__ R operator+(S a, T b) { return R(R(a) + R(b)); }                                         \
  inline __host__ __device__ R operator-(S a, T b) { return R(R(a) - R(b)); }                                         \
  inline __host__ __device__ R operator*(S a, T b) { return R(R(a) * R(b)); }                                         \
  inline __host__ __device__ R operator/(S a, T b) { return R(R(a) / R(b)); }
KZ_FLOAT_LIKE(Half)
KZ_FLOAT_LIKE(BFloat16)
inline __host__ __device__ float& operator+=(float& a, const Half& b) { return a += float(b); }
inline __host__ __device__ float& operator+=(float& a, const BFloat16& b) { return a += float(b); }
inline __host__ __device__ float& operator*=(float& a, const Half& b) { return a *= float(b); }
inline __host__ __device__ float& operator*=(float& a, const BFloat16& b) { return a *= float(b); }
#undef KZ_FLOAT_LIKE
#undef KZ_FLOAT_LIKE_WITH

} // namespace c10
#else
namespace c10 {
struct Half;
struct BFloat16;
}
#endif

namespace kz {
template <typename T>
struct DtypeOf;  // only the types that Torch can hold in a tensor
#define KZ_DTYPE_OF(T, NAME) \
  template <> struct DtypeOf<T> { static constexpr c10::ScalarType value = c10::ScalarType::NAME; };
KZ_DTYPE_OF(uint8_t, Byte)
KZ_DTYPE_OF(int8_t, Char)
KZ_DTYPE_OF(int16_t, Short)
KZ_DTYPE_OF(int32_t, Int)
KZ_DTYPE_OF(int64_t, Long)
KZ_DTYPE_OF(uint16_t, UInt16)
KZ_DTYPE_OF(uint32_t, UInt32)
KZ_DTYPE_OF(uint64_t, UInt64)
KZ_DTYPE_OF(c10::Half, Half)
KZ_DTYPE_OF(c10::BFloat16, BFloat16)
KZ_DTYPE_OF(float, Float)
KZ_DTYPE_OF(double, Double)
KZ_DTYPE_OF(bool, Bool)
#undef KZ_DTYPE_OF
} // namespace kz

namespace c10 {
template <typename T>
struct CppTypeToScalarType { static constexpr ScalarType value = kz::DtypeOf<T>::value; };
}
