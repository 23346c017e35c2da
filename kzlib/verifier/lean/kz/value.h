// Conversion between C++ types and kz_value, for calls in both directions.
#pragma once
#include "half.h"

namespace at {
class Tensor;
}

namespace kz {

// Argument of a call into the host. Storage of lists lives as long as the Argument.
struct Argument {
  kz_value v{};
  kz_value* owned = nullptr;
  Argument() {}
  Argument(const Argument&) = delete;
  ~Argument() { delete[] owned; }
  kz_value* list(int64_t n) {
    owned = new kz_value[size_t(n) + 1]();
    v.kind = KZ_LIST;
    v.length = n;
    v.items = owned;
    return owned;
  }
};

template <typename T, typename = void>
struct Into;  // C++ -> kz_value, borrowed

template <typename T>
struct Into<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
  static void to(Argument& a, const T& x) { a.v = c10::Scalar(x).v; }
};
template <>
struct Into<c10::Scalar> {
  static void to(Argument& a, const c10::Scalar& x) { a.v = x.v; }
};
template <>
struct Into<c10::ScalarType> {
  static void to(Argument& a, const c10::ScalarType& x) { a.v.kind = KZ_DTYPE; a.v.i = int64_t(x); }
};
template <>
struct Into<c10::MemoryFormat> {
  static void to(Argument& a, const c10::MemoryFormat& x) { a.v.kind = KZ_MEMORY_FORMAT; a.v.i = int64_t(x); }
};
template <>
struct Into<c10::Device> {
  static void to(Argument& a, const c10::Device& x) { a.v.kind = KZ_DEVICE; a.v.i = int64_t(x.type()); a.v.index = x.index(); }
};
template <>
struct Into<c10::DeviceType> {
  static void to(Argument& a, const c10::DeviceType& x) { Into<c10::Device>::to(a, c10::Device(x)); }
};
template <>
struct Into<const char*> {
  static void to(Argument& a, const char* const& x) { a.v.kind = KZ_STRING; a.v.text = x; a.v.length = int64_t(strlen(x)); }
};
template <>
struct Into<c10::NoneType> {
  static void to(Argument& a, const c10::NoneType&) { a.v.kind = KZ_NONE; }
};
template <typename T>
struct Into<c10::ArrayRef<T>> {
  static void to(Argument& a, const c10::ArrayRef<T>& x) {
    kz_value* items = a.list(int64_t(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      Argument one;
      Into<T>::to(one, x[i]);
      items[i] = one.v;  // scalars and borrowed tensor handles only
    }
  }
};
#ifdef KZ_STD_STRING
template <>
struct Into<std::string> {
  static void to(Argument& a, const std::string& x) { a.v.kind = KZ_STRING; a.v.text = x.c_str(); a.v.length = int64_t(x.size()); }
};
#endif
#ifdef KZ_STD_VECTOR
template <typename T>
struct Into<std::vector<T>> {
  static void to(Argument& a, const std::vector<T>& x) { Into<c10::ArrayRef<T>>::to(a, c10::ArrayRef<T>(x)); }
};
#endif
#ifdef KZ_STD_OPTIONAL
template <typename T>
struct Into<std::optional<T>> {
  static void to(Argument& a, const std::optional<T>& x) {
    if (x) Into<T>::to(a, *x);
    else a.v.kind = KZ_NONE;
  }
};
template <>
struct Into<std::nullopt_t> {
  static void to(Argument& a, const std::nullopt_t&) { a.v.kind = KZ_NONE; }
};
#endif

inline void release(kz_value& v) {
  if (v.kind == KZ_TENSOR && v.tensor) host->drop(v.tensor);
  if (v.kind == KZ_STRING) free(const_cast<char*>(v.text));
  if (v.kind == KZ_LIST || v.kind == KZ_TUPLE) {
    for (int64_t i = 0; i < v.length; ++i) release(v.items[i]);
    free(v.items);
  }
  v = kz_value{};
}

// Which keyword a typed argument takes in Python, where C++ passes it by position.
template <typename T>
inline constexpr const char* keyword_of = nullptr;
template <>
inline constexpr const char* keyword_of<c10::ScalarType> = "dtype";
template <>
inline constexpr const char* keyword_of<c10::MemoryFormat> = "memory_format";

inline kz_value call_host(const char* name, kz_value* arguments, const char* const* keywords, int count) {
  // Keywords go last, positions keep their order.
  kz_value ordered[24];
  const char* names[24];
  int used = 0, named = 0;
  for (int i = 0; i < count; ++i)
    if (!keywords[i]) ordered[used++] = arguments[i];
  for (int i = 0; i < count; ++i)
    if (keywords[i]) { ordered[used++] = arguments[i]; names[named++] = keywords[i]; }
  kz_value result{};
  char error[1024];
  if (host->call(name, ordered, used, names, named, &result, error, int(sizeof(error)))) fail(static_cast<const char*>(error));
  return result;
}

template <typename... A>
kz_value call(const char* name, const A&... a) {
  constexpr int n = int(sizeof...(A));
  static_assert(n <= 20, "too many arguments");
  Argument held[n + 1];
  int i = 0;
  ((Into<Plain<A>>::to(held[i], a), ++i), ...);
  const char* keywords[] = {keyword_of<Plain<A>>..., nullptr};
  kz_value values[n + 1];
  for (int k = 0; k < n; ++k) values[k] = held[k].v;
  return call_host(name, values, keywords, n);
}

} // namespace kz
