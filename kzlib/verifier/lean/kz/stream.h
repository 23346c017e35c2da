// Streams and device guards.
#pragma once
#include "check.h"
#include "ops.h"

namespace c10::cuda {

struct CUDAStream {
  cudaStream_t raw;
  DeviceIndex index;
  cudaStream_t stream() const { return raw; }
  operator cudaStream_t() const { return raw; }
  DeviceIndex device_index() const { return index; }
  void synchronize() const { kz::cuda_check(cudaStreamSynchronize(raw)); }
};
inline DeviceIndex current_device() {
  int d = 0;
  kz::cuda_check(cudaGetDevice(&d));
  return DeviceIndex(d);
}
inline void set_device(DeviceIndex d) { kz::cuda_check(cudaSetDevice(d)); }
inline DeviceIndex device_count() { int n = 0; return cudaGetDeviceCount(&n) == cudaSuccess ? DeviceIndex(n) : DeviceIndex(0); }
inline void device_synchronize() { kz::cuda_check(cudaDeviceSynchronize()); }
inline CUDAStream getCurrentCUDAStream(DeviceIndex index = -1) {
  if (index < 0) index = current_device();
  void* raw = nullptr;
  if (!kz::host->current_stream) kz::fail("this PyTorch has no CUDA");
  kz::ok(kz::host->current_stream(index, &raw), "the current stream");
  return CUDAStream{static_cast<cudaStream_t>(raw), index};
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex index = -1) {
  return CUDAStream{nullptr, index < 0 ? current_device() : index};
}

class CUDAGuard {
  int before = 0;
 public:
  explicit CUDAGuard(Device d) : CUDAGuard(d.index()) {}
  explicit CUDAGuard(DeviceIndex d) {
    kz::cuda_check(cudaGetDevice(&before));
    if (d >= 0) set_device(d);
  }
  CUDAGuard(const CUDAGuard&) = delete;
  ~CUDAGuard() { (void)cudaSetDevice(before); }
};
class OptionalCUDAGuard {
  int before = -1;
 public:
  OptionalCUDAGuard() { (void)cudaGetDevice(&before); }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  template <typename D>
  explicit OptionalCUDAGuard(const D& d) : OptionalCUDAGuard() { set_device(d); }
  void set_device(Device d) { set_index(d.index()); }
  void set_index(DeviceIndex d) { if (d >= 0) kz::cuda_check(cudaSetDevice(d)); }
  ~OptionalCUDAGuard() { (void)cudaSetDevice(before); }
};

} // namespace c10::cuda

namespace c10 {
using DeviceGuard = cuda::CUDAGuard;
}

namespace at {
using DeviceGuard = c10::cuda::CUDAGuard;
template <typename T>
inline int optional_device_index(const T& t) { return t.device().index(); }
struct OptionalDeviceGuard : c10::cuda::OptionalCUDAGuard { using OptionalCUDAGuard::OptionalCUDAGuard; };
inline Device device_of(const Tensor& t) { return t.device(); }
namespace cuda {
using namespace c10::cuda;
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::OptionalCUDAGuard;
inline const cudaDeviceProp* getDeviceProperties(int d) {
  static cudaDeviceProp p[16];
  static bool known[16];
  if (d < 0 || d >= 16) kz::fail("no CUDA device ", d);
  if (!known[d]) { kz::cuda_check(cudaGetDeviceProperties(&p[d], d)); known[d] = true; }
  return &p[d];
}
inline const cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return 32; }
template <typename T>
T ATenCeilDiv(T a, T b) { return (a + b - 1) / b; }
} // namespace cuda
template <typename T, typename U>
T ceil_div(T a, U b) { return (a + b - 1) / b; }
} // namespace at

namespace torch::cuda {
using c10::cuda::getCurrentCUDAStream;
}
