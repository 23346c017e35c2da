// PYBIND11_MODULE without pybind11: m.def records a plain C trampoline for each function; the compiler does the typing.
#pragma once
#include "check.h"
#include "ops.h"

namespace pybind11 {
struct arg;
}

namespace kz {

struct Mismatch {};  // an argument does not fit; the caller turns it into a TypeError with the signature

template <typename T, typename = void>
struct From;
template <typename T>
struct From<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static T from(const kz_value& v) {
    if (v.kind != KZ_INT && v.kind != KZ_BOOL) throw Mismatch();
    if (int64_t(T(v.i)) != v.i) throw Mismatch();
    return T(v.i);
  }
};
template <>
struct From<bool> {
  static bool from(const kz_value& v) {
    if (v.kind != KZ_BOOL) throw Mismatch();
    return v.i != 0;
  }
};
template <typename T>
struct From<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static T from(const kz_value& v) {
    if (v.kind == KZ_FLOAT) return T(v.d);
    if (v.kind == KZ_INT || v.kind == KZ_BOOL) return T(v.i);
    throw Mismatch();
  }
};
template <>
struct From<at::Tensor> {
  static at::Tensor from(const kz_value& v) {
    at::Tensor t;
    if (v.kind == KZ_NONE) return t;
    if (v.kind != KZ_TENSOR) throw Mismatch();
    ok(host->copy(v.tensor, &t.handle), "an argument");
    return t;
  }
};
template <>
struct From<c10::Scalar> {
  static c10::Scalar from(const kz_value& v) {
    if (v.kind != KZ_INT && v.kind != KZ_FLOAT && v.kind != KZ_BOOL) throw Mismatch();
    c10::Scalar s;
    s.v = v;
    return s;
  }
};
template <>
struct From<c10::ScalarType> {
  static c10::ScalarType from(const kz_value& v) {
    if (v.kind != KZ_DTYPE) throw Mismatch();
    return c10::ScalarType(v.i);
  }
};
template <>
struct From<c10::Device> {
  static c10::Device from(const kz_value& v) {
    if (v.kind != KZ_DEVICE) throw Mismatch();
    return c10::Device(c10::DeviceType(v.i), c10::DeviceIndex(v.index));
  }
};
#ifdef KZ_STD_STRING
template <>
struct From<std::string> {
  static std::string from(const kz_value& v) {
    if (v.kind != KZ_STRING) throw Mismatch();
    return std::string(v.text, size_t(v.length));
  }
};
#endif
#ifdef KZ_STD_VECTOR
template <typename T>
struct From<std::vector<T>> {
  static std::vector<T> from(const kz_value& v) {
    if (v.kind != KZ_LIST && v.kind != KZ_TUPLE) throw Mismatch();
    std::vector<T> out;
    for (int64_t i = 0; i < v.length; ++i) out.push_back(From<T>::from(v.items[i]));
    return out;
  }
};
// at::IntArrayRef arguments: the vector lives in the trampoline's tuple.
template <>
struct From<c10::IntArrayRef> : From<std::vector<int64_t>> {};
#endif
#ifdef KZ_STD_OPTIONAL
template <typename T>
struct From<std::optional<T>> {
  static std::optional<T> from(const kz_value& v) {
    if (v.kind == KZ_NONE) return std::nullopt;
    return From<T>::from(v);
  }
};
#endif

template <typename T, typename = void>
struct Out {  // results of plain kinds; containers below
  static void to(kz_value& r, const T& x) {
    Argument a;
    Into<T>::to(a, x);
    r = a.v;
  }
};
template <>
struct Out<at::Tensor> {
  static void to(kz_value& r, const at::Tensor& x) {
    r.kind = KZ_NONE;
    if (!x.handle) return;
    ok(host->copy(x.handle, &r.tensor), "a result");
    r.kind = KZ_TENSOR;
  }
};
inline kz_value* room(kz_value& r, int32_t kind, size_t n) {
  r.kind = kind;
  r.length = int64_t(n);
  r.items = static_cast<kz_value*>(calloc(n + 1, sizeof(kz_value)));
  return r.items;
}
#ifdef KZ_STD_STRING
template <>
struct Out<std::string> {
  static void to(kz_value& r, const std::string& x) {
    r.kind = KZ_STRING;
    r.length = int64_t(x.size());
    r.text = strdup(x.c_str());
  }
};
#endif
template <>
struct Out<const char*> {
  static void to(kz_value& r, const char* x) { r.kind = KZ_STRING; r.length = int64_t(strlen(x)); r.text = strdup(x); }
};
#ifdef KZ_STD_VECTOR
template <typename T>
struct Out<std::vector<T>> {
  static void to(kz_value& r, const std::vector<T>& x) {
    kz_value* items = room(r, KZ_LIST, x.size());
    for (size_t i = 0; i < x.size(); ++i) Out<T>::to(items[i], x[i]);
  }
};
#endif
#ifdef KZ_STD_OPTIONAL
template <typename T>
struct Out<std::optional<T>> {
  static void to(kz_value& r, const std::optional<T>& x) {
    if (x) Out<T>::to(r, *x);
  }
};
#endif
#ifdef KZ_STD_TUPLE
template <typename... T>
struct Out<std::tuple<T...>> {
  static void to(kz_value& r, const std::tuple<T...>& x) {
    kz_value* items = room(r, KZ_TUPLE, sizeof...(T));
    std::apply([&](const T&... one) { int i = 0; (Out<T>::to(items[i++], one), ...); }, x);
  }
};
#endif
template <typename A, typename B>
struct Out<std::pair<A, B>> {
  static void to(kz_value& r, const std::pair<A, B>& x) {
    kz_value* items = room(r, KZ_TUPLE, 2);
    Out<A>::to(items[0], x.first);
    Out<B>::to(items[1], x.second);
  }
};

inline int32_t complain(char* error, int32_t size, const char* text, int32_t status) {
  snprintf(error, size_t(size), "%s", text);
  return status;
}

// Calls F with unpacked arguments. 0 = done, 1 = RuntimeError, 2 = TypeError.
template <typename R, typename... A>
struct Trampoline {
  // Lets a function take `Tensor&` (a non-const reference) as well as values and const references.
  template <typename P, typename T>
  struct Holder {
    T value;
    explicit Holder(T&& v) : value(std::move(v)) {}
    operator P() {
      if constexpr (std::is_lvalue_reference_v<P>) return value;
      else return P(std::move(value));
    }
  };
  template <typename P>
  using Held = Holder<P, decltype(From<std::decay_t<P>>::from(std::declval<const kz_value&>()))>;
  template <size_t... I>
  static void apply(void* f, const kz_value* v, kz_value* result, std::index_sequence<I...>) {
    auto function = reinterpret_cast<R (*)(A...)>(f);
    (void)v;
    if constexpr (std::is_void_v<R>) function(Held<A>(From<std::decay_t<A>>::from(v[I]))...);
    else Out<std::decay_t<R>>::to(*result, function(Held<A>(From<std::decay_t<A>>::from(v[I]))...));
  }
  static int32_t call(void* f, const kz_value* v, int32_t n, kz_value* result, char* error, int32_t size) {
    if (n != int32_t(sizeof...(A))) return complain(error, size, "incompatible function arguments", 2);
    try {
      apply(f, v, result, std::index_sequence_for<A...>());
      return 0;
    } catch (const Mismatch&) {
      return complain(error, size, "incompatible function arguments", 2);
    } catch (const std::exception& e) {
      return complain(error, size, e.what(), 1);
    } catch (...) {
      return complain(error, size, "an exception of unknown type", 1);
    }
  }
};

constexpr int max_functions = 64, max_keywords = 256;
inline kz_function functions[max_functions];
inline int32_t function_count = 0;
inline const char* keyword_names[max_keywords];
inline kz_value keyword_defaults[max_keywords];
inline int32_t keyword_count = 0;

struct Extra {  // one py::arg
  const char* name;
  kz_value standard;
  bool has_standard;
};
inline void take(kz_function&, const char*) {}
template <typename T>
void take(kz_function&, const T&) {}
inline void take(kz_function& f, const pybind11::arg& a);
} // namespace kz

namespace pybind11 {
struct arg {
  kz::Extra extra{};
  explicit arg(const char* name) { extra.name = name; }
  template <typename T>
  arg operator=(const T& value) const {
    arg out = *this;
    kz::Argument a;
    kz::Into<T>::to(a, value);
    out.extra.standard = a.v;
    out.extra.has_standard = true;
    return out;
  }
  arg noconvert(bool = true) const { return *this; }
};
struct gil_scoped_release { gil_scoped_release() {} ~gil_scoped_release() {} };
struct gil_scoped_acquire { gil_scoped_acquire() {} ~gil_scoped_acquire() {} };
template <typename T>
struct call_guard {};

struct module_ {
  const char*& doc() { static const char* text; return text; }
  template <typename R, typename... A, typename... X>
  module_& def(const char* name, R (*f)(A...), const X&... extras) {
    if (kz::function_count >= kz::max_functions) kz::fail("a module of more than 64 functions");
    kz_function& one = kz::functions[kz::function_count++];
    one = kz_function{name, reinterpret_cast<void*>(f), &kz::Trampoline<R, A...>::call, __PRETTY_FUNCTION__,
                      int32_t(sizeof...(A)), 0, kz::keyword_names + kz::keyword_count, kz::keyword_defaults + kz::keyword_count};
    (kz::take(one, extras), ...);
    return *this;
  }
  template <typename F, typename... X, std::enable_if_t<std::is_class_v<F>, int> = 0>
  module_& def(const char* name, F f, const X&... extras) { return def(name, +f, extras...); }
};
using module = module_;
namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}
} // namespace pybind11
namespace py = pybind11;

namespace kz {
inline void take(kz_function& f, const pybind11::arg& a) {
  if (keyword_count >= max_keywords) fail("too many named arguments");
  keyword_names[keyword_count] = a.extra.name;
  keyword_defaults[keyword_count] = a.extra.standard;
  keyword_defaults[keyword_count].index = a.extra.has_standard;
  ++keyword_count;
  ++f.keywords;
}
}

namespace torch {
template <typename F>
F wrap_pybind_function(F f) { return f; }
}

namespace kz {
// The body of the exported kz_open: define the module once, hand out its table.
inline int32_t open_module(void (*define)(pybind11::module_&), const kz_host* host_table, const kz_function** out, int32_t* count,
                           char* error, int32_t size) {
  host = host_table;
  try {
    if (function_count == 0) {
      pybind11::module_ m;
      define(m);
    }
  } catch (const std::exception& e) {
    return complain(error, size, e.what(), 1);
  }
  *out = functions;
  *count = function_count;
  return 0;
}
}

#define PYBIND11_MODULE(NAME, M)                                                                                     \
  static void kz_define(pybind11::module_&);                                                                         \
  extern "C" __attribute__((visibility("default"))) int32_t kz_open(const kz_host* h, const kz_function** f, int32_t* n, \
                                                                    char* e, int32_t s) {                            \
    return kz::open_module(kz_define, h, f, n, e, s);                                                                \
  }                                                                                                                  \
  static void kz_define(pybind11::module_& M)
#define TORCH_EXTENSION_NAME kz_extension
