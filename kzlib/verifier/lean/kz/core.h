// Scalars, errors, dtypes, devices, sizes: the small types under torch::Tensor.
#pragma once
#include <cmath>
#include <exception>
#include <initializer_list>
#include <limits>
#include <new>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <type_traits>
#include <utility>

#include "abi.h"
#include "standard.h"

namespace kz {

inline const kz_host* host = nullptr;

// An append-only text of fixed size, so that messages need no <string> and no <sstream>.
struct Text {
  char data[1024];
  int used = 0;
  Text() { data[0] = 0; }
  void raw(const char* s) {
    while (*s && used < int(sizeof(data)) - 1) data[used++] = *s++;
    data[used] = 0;
  }
  template <typename... A>
  void format(const char* pattern, A... a) {
    char part[64];
    snprintf(part, sizeof(part), pattern, a...);
    raw(part);
  }
};

template <typename T, typename = void>
struct Show {
  static void to(Text& t, const T&) { t.raw("(value)"); }
};
template <typename T>
struct Show<T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>> {
  static void to(Text& t, const T& v) { t.format("%lld", (long long)v); }
};
template <typename T>
struct Show<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static void to(Text& t, const T& v) { t.format("%g", (double)v); }
};
template <>
struct Show<const char*> {
  static void to(Text& t, const char* const& v) { t.raw(v ? v : "(null)"); }
};
#ifdef KZ_STD_STRING
template <>
struct Show<std::string> {
  static void to(Text& t, const std::string& v) { t.raw(v.c_str()); }
};
#endif

// How an argument taken as const T& is kept: a string literal as const char*.
template <typename T>
using Plain = std::conditional_t<std::is_same_v<std::decay_t<T>, char*>, const char*, std::decay_t<T>>;

inline void show_all(Text&) {}
template <typename T, typename... R>
void show_all(Text& t, const T& v, const R&... rest) {
  Show<Plain<T>>::to(t, v);
  show_all(t, rest...);
}

} // namespace kz

namespace c10 {

class Error : public std::exception {
 public:
  kz::Text text;
  explicit Error(const kz::Text& t) : text(t) {}
  const char* what() const noexcept override { return text.data; }
};

using DeviceIndex = int8_t;

enum class ScalarType : int8_t {
  Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, ComplexHalf = 8, ComplexFloat = 9,
  ComplexDouble = 10, Bool = 11, BFloat16 = 15, Float8_e5m2 = 23, Float8_e4m3fn = 24, UInt16 = 27, UInt32 = 28,
  UInt64 = 29, Undefined = 127,
};

inline const char* toString(ScalarType t) {
  switch (t) {
    case ScalarType::Byte: return "Byte";
    case ScalarType::Char: return "Char";
    case ScalarType::Short: return "Short";
    case ScalarType::Int: return "Int";
    case ScalarType::Long: return "Long";
    case ScalarType::Half: return "Half";
    case ScalarType::Float: return "Float";
    case ScalarType::Double: return "Double";
    case ScalarType::ComplexFloat: return "ComplexFloat";
    case ScalarType::ComplexDouble: return "ComplexDouble";
    case ScalarType::Bool: return "Bool";
    case ScalarType::BFloat16: return "BFloat16";
    case ScalarType::Float8_e5m2: return "Float8_e5m2";
    case ScalarType::Float8_e4m3fn: return "Float8_e4m3fn";
    default: return "UNKNOWN_SCALAR";
  }
}

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 14 };
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
enum class Layout : int8_t { Strided = 0 };
inline constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous = 0, Preserve = 1, ChannelsLast = 2, ChannelsLast3d = 3 };
enum class NoneType {};

struct Device {
  DeviceType type_;
  DeviceIndex index_;
  Device(DeviceType t, DeviceIndex i = -1) : type_(t), index_(i) {}
  Device(const char* s) : type_(DeviceType::CPU), index_(-1) { parse(s); }
#ifdef KZ_STD_STRING
  Device(const std::string& s) : Device(s.c_str()) {}
#endif
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ != -1; }
  bool is_cuda() const { return type_ == DeviceType::CUDA; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
  bool operator!=(const Device& o) const { return !(*this == o); }
 private:
  void parse(const char* s) {
    if (strncmp(s, "cuda", 4) == 0) {
      type_ = DeviceType::CUDA;
      if (s[4] == ':') index_ = DeviceIndex(atoi(s + 5));
    }
  }
};

// A number that remembers whether it was whole, as at::Scalar does.
struct Scalar {
  kz_value v{};
  Scalar() : Scalar(int64_t(0)) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Scalar(T x) {
    if constexpr (std::is_same_v<T, bool>) { v.kind = KZ_BOOL; v.i = x; }
    else if constexpr (std::is_integral_v<T>) { v.kind = KZ_INT; v.i = int64_t(x); }
    else { v.kind = KZ_FLOAT; v.d = double(x); }
  }
  double toDouble() const { return v.kind == KZ_FLOAT ? v.d : double(v.i); }
  float toFloat() const { return float(toDouble()); }
  int64_t toLong() const { return v.kind == KZ_FLOAT ? int64_t(v.d) : v.i; }
  int toInt() const { return int(toLong()); }
  bool toBool() const { return toLong() != 0; }
  template <typename T>
  T to() const {
    if constexpr (std::is_integral_v<T>) return T(toLong());
    else return T(toDouble());
  }
  bool isFloatingPoint() const { return v.kind == KZ_FLOAT; }
};

template <typename T>
struct ArrayRef {
  const T* data_ = nullptr;
  size_t size_ = 0;
  ArrayRef() {}
  ArrayRef(const T* d, size_t n) : data_(d), size_(n) {}
  ArrayRef(const T* b, const T* e) : data_(b), size_(size_t(e - b)) {}
  ArrayRef(const T& one) : data_(&one), size_(1) {}
  ArrayRef(std::initializer_list<T> l) : data_(l.begin()), size_(l.size()) {}
  template <size_t N>
  ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
#ifdef KZ_STD_VECTOR
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
#endif
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  bool equals(ArrayRef o) const {
    if (size_ != o.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (!(data_[i] == o.data_[i])) return false;
    return true;
  }
  friend bool operator==(ArrayRef a, ArrayRef b) { return a.equals(b); }
  friend bool operator!=(ArrayRef a, ArrayRef b) { return !a.equals(b); }
#ifdef KZ_STD_VECTOR
  friend bool operator==(const std::vector<T>& a, ArrayRef b) { return ArrayRef(a).equals(b); }
  friend bool operator==(ArrayRef a, const std::vector<T>& b) { return a.equals(ArrayRef(b)); }
#endif
};
using IntArrayRef = ArrayRef<int64_t>;

#ifdef KZ_STD_OPTIONAL
using std::nullopt;
using std::nullopt_t;
template <typename T>
using optional = std::optional<T>;
#endif

} // namespace c10

namespace kz {

template <typename T>
struct Show<c10::ArrayRef<T>> {
  static void to(Text& t, const c10::ArrayRef<T>& v) {
    t.raw("[");
    for (size_t i = 0; i < v.size(); ++i) {
      if (i) t.raw(", ");
      Show<T>::to(t, v[i]);
    }
    t.raw("]");
  }
};
template <>
struct Show<c10::ScalarType> {
  static void to(Text& t, const c10::ScalarType& v) { t.raw(c10::toString(v)); }
};
template <>
struct Show<c10::Device> {
  static void to(Text& t, const c10::Device& v) {
    t.raw(v.is_cuda() ? "cuda" : "cpu");
    if (v.has_index()) t.format(":%d", int(v.index()));
  }
};

template <typename... A>
[[noreturn]] void fail(const A&... a) {
  Text t;
  show_all(t, a...);
  throw c10::Error(t);
}
inline void ok(int32_t status, const char* what) {
  if (status) fail(what, " failed inside Torch");
}

} // namespace kz
