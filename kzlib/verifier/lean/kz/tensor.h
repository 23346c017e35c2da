// at::Tensor over a handle. The hot methods (sizes, data_ptr, empty, ...) are direct calls of the stable C interface;
// the rest go through the interpreter, with the meaning they have in Python.
#pragma once
#include "value.h"

namespace c10 {

struct TensorOptions {
  ScalarType dtype_ = ScalarType::Float;
  Device device_ = Device(DeviceType::CPU);
  bool has_dtype_ = false, has_device_ = false, requires_grad_ = false, pinned_ = false;
  TensorOptions() {}
  TensorOptions(ScalarType t) : dtype_(t), has_dtype_(true) {}
  TensorOptions(Device d) : device_(d), has_device_(true) {}
  TensorOptions(DeviceType d) : device_(d), has_device_(true) {}
  TensorOptions(Layout) {}
  TensorOptions dtype(ScalarType t) const { TensorOptions o = *this; o.dtype_ = t; o.has_dtype_ = true; return o; }
  template <typename T>
  TensorOptions dtype() const { return dtype(kz::DtypeOf<T>::value); }
  TensorOptions device(Device d) const { TensorOptions o = *this; o.device_ = d; o.has_device_ = true; return o; }
  TensorOptions device(DeviceType t, DeviceIndex i) const { return device(Device(t, i)); }
  TensorOptions device_index(DeviceIndex i) const { return device(Device(DeviceType::CUDA, i)); }
  TensorOptions layout(Layout) const { return *this; }
  TensorOptions requires_grad(bool r) const { TensorOptions o = *this; o.requires_grad_ = r; return o; }
  TensorOptions pinned_memory(bool p) const { TensorOptions o = *this; o.pinned_ = p; return o; }
  TensorOptions memory_format(MemoryFormat) const { return *this; }
  Device device() const { return device_; }
  ScalarType dtype() const { return dtype_; }
};

// What Tensor::type() returns; real AT_DISPATCH macros do not take it, so neither do ours.
struct TypeProperties {
  ScalarType scalar_type;
  Device device;
  bool is_cuda() const { return device.is_cuda(); }
  ScalarType scalarType() const { return scalar_type; }
#ifdef KZ_DISPATCH_ON_TYPE
  operator ScalarType() const { return scalar_type; }
#endif
};

} // namespace c10

namespace at {

using namespace c10;
template <typename T>
struct DefaultPtrTraits { typedef T* PtrType; };
template <typename T>
struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename Index = int64_t>
class PackedTensorAccessor;
template <typename T, size_t N>
using HostAccessor = PackedTensorAccessor<T, N, DefaultPtrTraits, int64_t>;

#define KZ_METHOD(NAME)                                                                                  \
  template <typename... A>                                                                               \
  Tensor NAME(const A&... a) const { return Tensor(kz::call("." #NAME, *this, a...)); }                  \
  template <typename... A>                                                                               \
  Tensor NAME(IntArrayRef first, const A&... a) const { return Tensor(kz::call("." #NAME, *this, first, a...)); }

class Tensor {
 public:
  void* handle = nullptr;

  Tensor() {}
  explicit Tensor(void* owned) : handle(owned) {}
  explicit Tensor(kz_value v) {
    if (v.kind != KZ_TENSOR && v.kind != KZ_NONE) { kz::release(v); kz::fail("this Torch call gave no tensor"); }
    handle = v.kind == KZ_TENSOR ? v.tensor : nullptr;
  }
  Tensor(const Tensor& o) { if (o.handle) kz::ok(kz::host->copy(o.handle, &handle), "copying a tensor"); }
  Tensor(Tensor&& o) noexcept : handle(o.handle) { o.handle = nullptr; }
  Tensor& operator=(Tensor o) noexcept { std::swap(handle, o.handle); return *this; }
  ~Tensor() { if (handle) kz::host->drop(handle); }

  bool defined() const { return handle != nullptr; }
  int64_t dim() const { int64_t n; kz::ok(kz::host->dim(get(), &n), "dim"); return n; }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { int64_t n; kz::ok(kz::host->numel(get(), &n), "numel"); return n; }
  IntArrayRef sizes() const { int64_t* p; kz::ok(kz::host->sizes(get(), &p), "sizes"); return IntArrayRef(p, size_t(dim())); }
  IntArrayRef strides() const { int64_t* p; kz::ok(kz::host->strides(get(), &p), "strides"); return IntArrayRef(p, size_t(dim())); }
  int64_t size(int64_t d) const { return sizes()[wrap(d)]; }
  int64_t stride(int64_t d) const { return strides()[wrap(d)]; }
  int64_t storage_offset() const { int64_t n; kz::ok(kz::host->storage_offset(get(), &n), "storage_offset"); return n; }
  ScalarType scalar_type() const { int32_t t; kz::ok(kz::host->dtype(get(), &t), "dtype"); return ScalarType(t); }
  ScalarType dtype() const { return scalar_type(); }
  Device device() const {
    int32_t t, i;
    kz::ok(kz::host->device_type(get(), &t), "device");
    kz::ok(kz::host->device_index(get(), &i), "device");
    return Device(DeviceType(t), DeviceIndex(i));
  }
  int64_t get_device() const { return device().index(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_cpu() const { return device().is_cpu(); }
  TypeProperties type() const { return TypeProperties{scalar_type(), device()}; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  int64_t element_size() const { return integer(".element_size"); }
  int64_t itemsize() const { return element_size(); }
  size_t nbytes() const { return size_t(numel() * element_size()); }
  bool is_floating_point() const { return truth(".is_floating_point"); }
  bool requires_grad() const { return false; }
  bool is_sparse() const { return false; }
  bool is_same(const Tensor& o) const { return handle == o.handle; }
  bool is_contiguous() const {
    IntArrayRef s = sizes(), t = strides();
    int64_t expected = 1;
    for (size_t k = s.size(); k-- > 0;) {
      if (s[k] == 0) return true;
      if (s[k] != 1 && t[k] != expected) return false;
      expected *= s[k];
    }
    return true;
  }
  bool is_contiguous(MemoryFormat f) const {
    if (f == MemoryFormat::Contiguous) return is_contiguous();
    kz_value v = kz::call(".is_contiguous", *this, f);
    return v.i != 0;
  }

  void* data_ptr() const { void* p; kz::ok(kz::host->data_ptr(get(), &p), "data_ptr"); return p; }
  template <typename T>
  T* data_ptr() const {
    constexpr ScalarType wanted = kz::DtypeOf<std::remove_cv_t<T>>::value;
    if (scalar_type() != wanted) kz::fail("expected scalar type ", wanted, " but found ", scalar_type());
    return static_cast<T*>(data_ptr());
  }
  template <typename T>
  T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <typename T>
  const T* const_data_ptr() const { return data_ptr<std::remove_cv_t<T>>(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  template <typename T>
  T* data() const { return data_ptr<T>(); }

  template <typename T>
  T item() const { return item().template to<T>(); }
  Scalar item() const { Scalar s; s.v = kz::call(".item", *this); return s; }

  Tensor contiguous() const { return is_contiguous() ? *this : Tensor(kz::call(".contiguous", *this)); }
  Tensor contiguous(MemoryFormat f) const { return Tensor(kz::call(".contiguous", *this, f)); }
  Tensor to(TensorOptions o) const;
  template <typename... A>
  Tensor to(const A&... a) const { return Tensor(kz::call(".to", *this, a...)); }
  Tensor t() const { return Tensor(kz::call(".t", *this)); }
  Tensor cuda() const { return Tensor(kz::call(".cuda", *this)); }
  Tensor cpu() const { return Tensor(kz::call(".cpu", *this)); }
  Tensor toType(ScalarType d) const { return to(d); }
  Tensor operator[](int64_t i) const { return Tensor(kz::call(".select", *this, int64_t(0), i)); }
  Tensor slice(int64_t dim = 0, int64_t start = 0, int64_t end = INT64_MAX, int64_t step = 1) const;
  Tensor expand_as(const Tensor& o) const { return Tensor(kz::call(".expand_as", *this, o)); }

#include "methods.inc"

  template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
  PackedTensorAccessor<T, N, Traits, int32_t> packed_accessor32() const;
  template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
  PackedTensorAccessor<T, N, Traits, int64_t> packed_accessor64() const;
  template <typename T, size_t N>
  HostAccessor<T, N> accessor() const;

  void* get() const {
    if (!handle) kz::fail("this tensor is undefined");
    return handle;
  }

 private:
  size_t wrap(int64_t d) const {
    int64_t n = dim();
    if (d < -n || d >= n) kz::fail("Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ", d, ")");
    return size_t(d < 0 ? d + n : d);
  }
  int64_t integer(const char* name) const { return kz::call(name, *this).i; }
  bool truth(const char* name) const { return kz::call(name, *this).i != 0; }
};
#undef KZ_METHOD
using TensorList = ArrayRef<Tensor>;

} // namespace at

namespace kz {
template <>
struct Into<at::Tensor> {
  static void to(Argument& a, const at::Tensor& x) {
    a.v.kind = x.handle ? KZ_TENSOR : KZ_NONE;
    a.v.tensor = x.handle;
  }
};
template <>
struct Show<at::Tensor> {
  static void to(Text& t, const at::Tensor& x) { t.raw("Tensor"); if (x.defined()) Show<c10::IntArrayRef>::to(t, x.sizes()); }
};

// A call with TensorOptions: the parts that were set travel as keywords.
template <typename... A>
kz_value call_with(const char* name, const c10::TensorOptions& o, const A&... a) {
  constexpr int n = int(sizeof...(A));
  Argument held[n + 3];
  int i = 0;
  ((Into<Plain<A>>::to(held[i], a), ++i), ...);
  const char* keywords[n + 3] = {keyword_of<Plain<A>>...};
  int used = n;
  if (o.has_dtype_) { Into<c10::ScalarType>::to(held[used], o.dtype_); keywords[used++] = "dtype"; }
  if (o.has_device_) { Into<c10::Device>::to(held[used], o.device_); keywords[used++] = "device"; }
  kz_value values[n + 3];
  for (int k = 0; k < used; ++k) values[k] = held[k].v;
  return call_host(name, values, keywords, used);
}
} // namespace kz

namespace at {
inline Tensor Tensor::to(TensorOptions o) const { return Tensor(kz::call_with(".to", o, *this)); }
}
