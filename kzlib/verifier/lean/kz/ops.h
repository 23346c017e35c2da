// Free functions of namespace torch and at: factories over the stable C interface, library operations through the host.
#pragma once
#include "tensor.h"

namespace at {

inline Tensor empty(IntArrayRef sizes, TensorOptions o = {}) {
  int64_t strides[64], step = 1;
  if (sizes.size() > 64) kz::fail("a tensor has at most 64 dimensions");
  for (size_t k = sizes.size(); k-- > 0;) {
    if (sizes[k] < 0) kz::fail("Trying to create tensor with negative dimension ", sizes[k], ": ", sizes);
    strides[k] = step;
    step *= sizes[k] > 0 ? sizes[k] : 1;
  }
  Device d = o.device();
  if (d.is_cuda() && !d.has_index()) {
    kz_value v = kz::call("cuda.current_device");
    d.index_ = DeviceIndex(v.i);
  }
  void* handle = nullptr;
  if (kz::host->empty_strided(int64_t(sizes.size()), sizes.data(), strides, int32_t(o.dtype()), int32_t(d.type()),
                              d.is_cuda() ? int32_t(d.index()) : 0, &handle))
    return Tensor(kz::call_with("empty", o, sizes));  // again through Python, for its error
  return Tensor(handle);
}
inline Tensor empty(IntArrayRef sizes, TensorOptions o, MemoryFormat f) { return Tensor(kz::call_with("empty", o, sizes, f)); }
inline Tensor zeros(IntArrayRef sizes, TensorOptions o = {}) {
  Tensor t = empty(sizes, o);
  if (t.numel() > 0) kz::ok(kz::host->zero(t.get()), "zeros");
  return t;
}
inline Tensor ones(IntArrayRef sizes, TensorOptions o = {}) { return Tensor(kz::call_with("ones", o, sizes)); }
inline Tensor rand(IntArrayRef sizes, TensorOptions o = {}) { return Tensor(kz::call_with("rand", o, sizes)); }
inline Tensor randn(IntArrayRef sizes, TensorOptions o = {}) { return Tensor(kz::call_with("randn", o, sizes)); }
inline Tensor full(IntArrayRef sizes, Scalar v, TensorOptions o = {}) { return Tensor(kz::call_with("full", o, sizes, v)); }
inline Tensor arange(Scalar e, TensorOptions o = {}) { return Tensor(kz::call_with("arange", o, e)); }
inline Tensor arange(Scalar b, Scalar e, TensorOptions o = {}) { return Tensor(kz::call_with("arange", o, b, e)); }
inline Tensor empty_like(const Tensor& x) {
  return x.is_contiguous() ? empty(x.sizes(), x.options()) : Tensor(kz::call("empty_like", x));
}
inline Tensor zeros_like(const Tensor& x) {
  return x.is_contiguous() ? zeros(x.sizes(), x.options()) : Tensor(kz::call("zeros_like", x));
}
inline Tensor ones_like(const Tensor& x) { return Tensor(kz::call("ones_like", x)); }
inline Tensor empty_like(const Tensor& x, TensorOptions o) { return Tensor(kz::call_with("empty_like", o, x)); }
inline Tensor zeros_like(const Tensor& x, TensorOptions o) { return Tensor(kz::call_with("zeros_like", o, x)); }
inline Tensor ones_like(const Tensor& x, TensorOptions o) { return Tensor(kz::call_with("ones_like", o, x)); }
inline Tensor full_like(const Tensor& x, Scalar v, TensorOptions o = {}) { return Tensor(kz::call_with("full_like", o, x, v)); }
inline Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, TensorOptions o = {}) {
  return Tensor(kz::call_with("empty_strided", o, sizes, strides));
}
template <typename T>
Tensor tensor(T v, TensorOptions o) { return Tensor(kz::call_with("tensor", o, v)); }
inline Tensor scalar_tensor(Scalar v, TensorOptions o = {}) { return Tensor(kz::call_with("scalar_tensor", o, v)); }
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline Tensor cat(ArrayRef<Tensor> l, int64_t d = 0) { return Tensor(kz::call("cat", l, d)); }
inline Tensor stack(ArrayRef<Tensor> l, int64_t d = 0) { return Tensor(kz::call("stack", l, d)); }

#define KZ_FUNCTION(NAME) \
  template <typename... A> \
  Tensor NAME(const Tensor& x, const A&... a) { return Tensor(kz::call(#NAME, x, a...)); } \
  template <typename... A> \
  Tensor NAME(const Tensor& x, IntArrayRef first, const A&... a) { return Tensor(kz::call(#NAME, x, first, a...)); }
KZ_FUNCTION(matmul) KZ_FUNCTION(mm) KZ_FUNCTION(bmm) KZ_FUNCTION(addmm) KZ_FUNCTION(baddbmm) KZ_FUNCTION(mv) KZ_FUNCTION(dot)
KZ_FUNCTION(add) KZ_FUNCTION(sub) KZ_FUNCTION(mul) KZ_FUNCTION(div) KZ_FUNCTION(pow) KZ_FUNCTION(exp) KZ_FUNCTION(log)
KZ_FUNCTION(sqrt) KZ_FUNCTION(rsqrt) KZ_FUNCTION(abs) KZ_FUNCTION(neg) KZ_FUNCTION(tanh) KZ_FUNCTION(sigmoid) KZ_FUNCTION(relu)
KZ_FUNCTION(softmax) KZ_FUNCTION(log_softmax) KZ_FUNCTION(sum) KZ_FUNCTION(mean) KZ_FUNCTION(cumsum) KZ_FUNCTION(cumprod)
KZ_FUNCTION(clamp) KZ_FUNCTION(clamp_min) KZ_FUNCTION(where) KZ_FUNCTION(argmax) KZ_FUNCTION(argmin) KZ_FUNCTION(amax)
KZ_FUNCTION(amin) KZ_FUNCTION(erf) KZ_FUNCTION(sin) KZ_FUNCTION(cos) KZ_FUNCTION(maximum) KZ_FUNCTION(minimum)
KZ_FUNCTION(transpose) KZ_FUNCTION(flatten) KZ_FUNCTION(logsumexp) KZ_FUNCTION(tril) KZ_FUNCTION(triu) KZ_FUNCTION(square)
KZ_FUNCTION(log1p) KZ_FUNCTION(norm) KZ_FUNCTION(prod) KZ_FUNCTION(flip)
#undef KZ_FUNCTION

#define KZ_CONVOLUTION(NAME) \
  inline Tensor NAME(const Tensor& x, const Tensor& w, const Tensor& b = {}, IntArrayRef stride = int64_t(1), \
                     IntArrayRef padding = int64_t(0), IntArrayRef dilation = int64_t(1), int64_t groups = 1) { \
    return Tensor(kz::call(#NAME, x, w, b, stride, padding, dilation, groups)); }
KZ_CONVOLUTION(conv1d) KZ_CONVOLUTION(conv2d) KZ_CONVOLUTION(conv3d)
#undef KZ_CONVOLUTION
inline Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b = {}) { return Tensor(kz::call("nn.functional.linear", x, w, b)); }
inline Tensor max_pool2d(const Tensor& x, IntArrayRef k, IntArrayRef s = {}, IntArrayRef p = int64_t(0),
                         IntArrayRef d = int64_t(1), bool ceil = false) {
  return Tensor(kz::call("max_pool2d", x, k, s, p, d, ceil));
}

#define KZ_OPERATOR(OP, NAME) \
  inline Tensor operator OP(const Tensor& a, const Tensor& b) { return Tensor(kz::call(#NAME, a, b)); } \
  inline Tensor operator OP(const Tensor& a, const Scalar& b) { return Tensor(kz::call("." #NAME, a, b)); }
KZ_OPERATOR(+, add) KZ_OPERATOR(-, sub) KZ_OPERATOR(*, mul) KZ_OPERATOR(/, div) KZ_OPERATOR(>, gt) KZ_OPERATOR(<, lt)
KZ_OPERATOR(>=, ge) KZ_OPERATOR(<=, le) KZ_OPERATOR(==, eq) KZ_OPERATOR(!=, ne)
#undef KZ_OPERATOR
inline Tensor operator+(const Scalar& a, const Tensor& b) { return b + a; }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b * a; }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return Tensor(kz::call("rsub", b, a)); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return Tensor(kz::call(".mul", Tensor(kz::call("reciprocal", b)), a)); }
inline Tensor operator-(const Tensor& a) { return Tensor(kz::call("neg", a)); }
inline Tensor& operator+=(Tensor& a, const Tensor& b) { Tensor(kz::call(".add_", a, b)); return a; }

template <typename T, size_t N, template <typename> class Traits, typename Index>
class PackedTensorAccessor {
 public:
  typedef typename Traits<T>::PtrType PtrType;
  PtrType data_;
  Index sizes_[N], strides_[N];
  PackedTensorAccessor(const Tensor& t) : data_(t.data_ptr<T>()) {
    if (t.dim() != int64_t(N)) kz::fail("TensorAccessor expected ", N, " dims but tensor has ", t.dim());
    for (size_t k = 0; k < N; ++k) { sizes_[k] = Index(t.sizes()[k]); strides_[k] = Index(t.strides()[k]); }
  }
  template <size_t M>
  struct Row {
    T* data;
    const Index* sizes;
    const Index* strides;
    __host__ __device__ auto operator[](Index i) const -> std::conditional_t<M == 1, T&, Row<(M > 1 ? M - 1 : 1)>> {
      if constexpr (M == 1) return data[i * strides[0]];
      else return Row<M - 1>{data + i * strides[0], sizes + 1, strides + 1};
    }
    __host__ __device__ Index size(int k) const { return sizes[k]; }
    __host__ __device__ Index stride(int k) const { return strides[k]; }
  };
  __host__ __device__ decltype(auto) operator[](Index i) const { return Row<N>{data_, sizes_, strides_}[i]; }
  __host__ __device__ Index size(int k) const { return sizes_[k]; }
  __host__ __device__ Index stride(int k) const { return strides_[k]; }
  __host__ __device__ PtrType data() const { return data_; }
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, Traits, int32_t>;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, Traits, int64_t>;
template <typename T, size_t N, template <typename> class Traits>
PackedTensorAccessor<T, N, Traits, int32_t> Tensor::packed_accessor32() const { return {*this}; }
template <typename T, size_t N, template <typename> class Traits>
PackedTensorAccessor<T, N, Traits, int64_t> Tensor::packed_accessor64() const { return {*this}; }
template <typename T, size_t N>
HostAccessor<T, N> Tensor::accessor() const { return {*this}; }

inline constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = kByte, kChar = ScalarType::Char, kInt8 = kChar,
    kShort = ScalarType::Short, kInt16 = kShort, kInt = ScalarType::Int, kInt32 = kInt, kLong = ScalarType::Long,
    kInt64 = kLong, kHalf = ScalarType::Half, kFloat16 = kHalf, kFloat = ScalarType::Float, kFloat32 = kFloat,
    kDouble = ScalarType::Double, kFloat64 = kDouble, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16,
    kFloat8_e4m3fn = ScalarType::Float8_e4m3fn, kFloat8_e5m2 = ScalarType::Float8_e5m2;

inline Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step = 1) {
  return Tensor(kz::call("ops.aten.slice.Tensor", x, dim, start, end, step));
}
inline Tensor Tensor::slice(int64_t dim, int64_t start, int64_t end, int64_t step) const { return at::slice(*this, dim, start, end, step); }
inline Tensor max(const Tensor& x) { return x.max(); }
inline Tensor min(const Tensor& x) { return x.min(); }
inline Tensor max(const Tensor& x, const Tensor& y) { return Tensor(kz::call("max", x, y)); }
inline Tensor min(const Tensor& x, const Tensor& y) { return Tensor(kz::call("min", x, y)); }
#ifdef KZ_STD_TUPLE
inline std::tuple<Tensor, Tensor> two_of(kz_value v) {
  if ((v.kind != KZ_TUPLE && v.kind != KZ_LIST) || v.length != 2) { kz::release(v); kz::fail("this Torch call gave no two tensors"); }
  std::tuple<Tensor, Tensor> out{Tensor(v.items[0]), Tensor(v.items[1])};
  free(v.items);
  return out;
}
inline std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keep = false) { return two_of(kz::call("max", x, dim, keep)); }
inline std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keep = false) { return two_of(kz::call("min", x, dim, keep)); }
inline std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keep) const { return at::max(*this, dim, keep); }
inline std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keep) const { return at::min(*this, dim, keep); }
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1) { return two_of(kz::call("topk", x, k, dim)); }
inline std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false) {
  return two_of(kz::call("sort", x, dim, descending));
}
#endif

struct NoGradGuard { NoGradGuard() {} ~NoGradGuard() {} };
struct InferenceMode { explicit InferenceMode(bool = true) {} ~InferenceMode() {} };
struct AutoNonVariableTypeMode { explicit AutoNonVariableTypeMode(bool = true) {} ~AutoNonVariableTypeMode() {} };

} // namespace at

namespace torch {
using namespace at;
using at::DeviceType;
using c10::ScalarType;
using Dtype = ScalarType;
namespace indexing { using at::Tensor; }
namespace cuda { inline bool is_available() { return kz::call("cuda.is_available").i != 0; }
inline void synchronize(int64_t = -1) { kz_value v = kz::call("cuda.synchronize"); kz::release(v); } }
}
