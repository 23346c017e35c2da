// Linked into every lean extension in place of the runtime's launch functions: counts launches, and skips them while
// the verifier asks what the answer is without them.
#include <cuda_runtime.h>

extern "C" {
__attribute__((visibility("default"))) long long kz_launches = 0;
__attribute__((visibility("default"))) int kz_skip = 0;

cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  ++kz_launches;
  return kz_skip ? cudaSuccess : __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
cudaError_t __real_cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  ++kz_launches;
  return kz_skip ? cudaSuccess : __real_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
cudaError_t __real_cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                               cudaStream_t stream) {
  ++kz_launches;
  return kz_skip ? cudaSuccess : __real_cudaLaunchCooperativeKernel(kernel, grid, block, arguments, shared, stream);
}
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  ++kz_launches;
  return kz_skip ? cudaSuccess : __real_cudaLaunchKernelExC(config, kernel, arguments);
}
}
