// The plain C boundary between a built extension and the process that loads it.
//
// An extension holds no undefined Torch symbol: it reaches Torch through the table below, filled by the loader with
// PyTorch's stable C functions (aoti_torch_*) and one general call that goes through the Python interpreter.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" {

enum kz_kind : int32_t {
  KZ_NONE = 0,
  KZ_BOOL = 1,
  KZ_INT = 2,
  KZ_FLOAT = 3,
  KZ_TENSOR = 4,
  KZ_STRING = 5,
  KZ_LIST = 6,
  KZ_TUPLE = 7,
  KZ_DTYPE = 8,
  KZ_DEVICE = 9,
  KZ_MEMORY_FORMAT = 10,
};

struct kz_value {
  int32_t kind;
  int32_t index;  // device index of KZ_DEVICE
  int64_t length; // items of KZ_LIST and KZ_TUPLE, bytes of KZ_STRING
  union {
    int64_t i;
    double d;
    void* tensor;      // owning at::Tensor handle
    const char* text;  // malloc'ed by whoever returns it, borrowed in arguments
    kz_value* items;   // as text
  };
};

struct kz_host {
  int32_t (*copy)(void* tensor, void** copied);
  int32_t (*drop)(void* tensor);
  int32_t (*data_ptr)(void* tensor, void** pointer);
  int32_t (*dim)(void* tensor, int64_t* dim);
  int32_t (*numel)(void* tensor, int64_t* numel);
  int32_t (*sizes)(void* tensor, int64_t** sizes);
  int32_t (*strides)(void* tensor, int64_t** strides);
  int32_t (*dtype)(void* tensor, int32_t* dtype);
  int32_t (*device_type)(void* tensor, int32_t* type);
  int32_t (*device_index)(void* tensor, int32_t* index);
  int32_t (*storage_offset)(void* tensor, int64_t* offset);
  int32_t (*empty_strided)(int64_t dim, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device_type,
                           int32_t device_index, void** tensor);
  int32_t (*zero)(void* tensor);
  int32_t (*current_stream)(int32_t device_index, void** stream); // null where Torch has no CUDA
  // name is looked up on the first argument if it is a tensor and the name starts with ".", else on the torch module.
  // The last `keywords` arguments are keyword arguments with the names given. On failure: text in `error`, result 1.
  int32_t (*call)(const char* name, const kz_value* arguments, int32_t count, const char* const* names, int32_t keywords,
                  kz_value* result, char* error, int32_t error_size);
};

typedef int32_t (*kz_trampoline)(void* function, const kz_value* arguments, int32_t count, kz_value* result, char* error,
                                 int32_t error_size);

struct kz_function {
  const char* name;
  void* function;
  kz_trampoline call;
  const char* signature;          // "(Tensor, int) -> Tensor", for error messages
  int32_t arity;
  int32_t keywords;               // argument names known (0 or arity)
  const char* const* names;
  const kz_value* defaults;       // arity entries; index = 1 where there is a default
};

// Exported by every extension.
int32_t kz_open(const kz_host* host, const kz_function** functions, int32_t* count, char* error, int32_t error_size);
}
