// AT_DISPATCH_*: one switch over the dtype, one lambda a type, the type named scalar_t (or index_t).
#pragma once
#include "check.h"
#include "tensor.h"

namespace kz {
template <c10::ScalarType S>
struct CppType;
#define KZ_CPP_TYPE(NAME, T) template <> struct CppType<c10::ScalarType::NAME> { using type = T; };
KZ_CPP_TYPE(Byte, uint8_t) KZ_CPP_TYPE(Char, int8_t) KZ_CPP_TYPE(Short, int16_t) KZ_CPP_TYPE(Int, int) KZ_CPP_TYPE(Long, int64_t)
KZ_CPP_TYPE(UInt16, uint16_t) KZ_CPP_TYPE(UInt32, uint32_t) KZ_CPP_TYPE(UInt64, uint64_t)
KZ_CPP_TYPE(Float, float) KZ_CPP_TYPE(Double, double) KZ_CPP_TYPE(Bool, bool) KZ_CPP_TYPE(Half, c10::Half)
KZ_CPP_TYPE(BFloat16, c10::BFloat16)
#undef KZ_CPP_TYPE
}
namespace c10::impl {
template <c10::ScalarType S>
struct ScalarTypeToCPPType { using type = typename kz::CppType<S>::type; };
template <c10::ScalarType S>
using ScalarTypeToCPPTypeT = typename kz::CppType<S>::type;
}

#define AT_PRIVATE_CASE_TYPE_USING_HINT(E, HINT, ...) \
  case E: { using HINT [[maybe_unused]] = typename kz::CppType<E>::type; return __VA_ARGS__(); }
#define AT_DISPATCH_CASE(E, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(E, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                                    \
  [&] {                                                                                                        \
    const auto& kz_the_type = TYPE;                                                                            \
    const at::ScalarType kz_type = kz_the_type;                                                                \
    switch (kz_type) {                                                                                         \
      __VA_ARGS__                                                                                              \
      default: kz::fail("\"", NAME, "\" not implemented for '", kz_type, "'");                                \
    }                                                                                                          \
  }()

#define KZ_C(T, ...) AT_DISPATCH_CASE(at::ScalarType::T, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) KZ_C(Double, __VA_ARGS__) KZ_C(Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) KZ_C(Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) KZ_C(Half, __VA_ARGS__) KZ_C(BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) \
  KZ_C(Byte, __VA_ARGS__) KZ_C(Char, __VA_ARGS__) KZ_C(Int, __VA_ARGS__) KZ_C(Long, __VA_ARGS__) KZ_C(Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define KZ_AND1(A, ...) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define KZ_AND2(A, B, ...) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__)
#define KZ_AND3(A, B, C, ...) KZ_AND2(A, B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__)
#define KZ_AND4(A, B, C, D, ...) KZ_AND3(A, B, C, __VA_ARGS__) AT_DISPATCH_CASE(D, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) KZ_AND1(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) KZ_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(A, B, C, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) KZ_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(A, B, C, D, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) KZ_AND4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) KZ_AND1(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) KZ_AND1(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) KZ_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) KZ_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                               \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::Int, index_t, __VA_ARGS__)    \
                                     AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::Long, index_t, __VA_ARGS__))
