/// The grid around kernel_bodies.h. Compiled for every architecture, never run on a GPU.
#include <cuda_runtime.h>

#include "kernel_bodies.h"
#include "kernels.h"

namespace float8::device {
namespace {

/// Enough blocks to fill any GPU of today; each thread then strides over the rest.
constexpr int64_t kMaxBlocks = 2048;

template <class T>
__global__ void __launch_bounds__(kThreads) amax_kernel(const T* x, int64_t n, int32_t* amax_bits) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int32_t mine = thread_amax(x, n, thread, static_cast<int64_t>(gridDim.x) * kThreads);
  const int32_t warp = __reduce_max_sync(0xffffffffU, mine);
  __shared__ int32_t warps[kThreads / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = warp;
  __syncthreads();
  if (threadIdx.x == 0) {
    int32_t largest = warps[0];
    for (int i = 1; i < kThreads / 32; ++i) largest = max(largest, warps[i]);
    atomicMax(amax_bits, largest);
  }
}

template <Format F, class T>
__global__ void __launch_bounds__(kThreads) cast_kernel(CastArguments arguments) {
  __shared__ __align__(16) uint8_t tile[kTile * kPitch];
  cast_rows<F, T>(arguments, blockIdx.x, blockIdx.y, threadIdx.x, tile);
  if (arguments.column_out == nullptr) return;
  __syncthreads();
  cast_columns(arguments, blockIdx.x, blockIdx.y, threadIdx.x, tile);
}

const char* text_of(cudaError_t error) { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

const char* launch_amax(const void* x, InputType type, int64_t n, int32_t* amax_bits, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (const char* error = text_of(cudaMemsetAsync(amax_bits, 0, sizeof *amax_bits, cuda_stream))) return error;
  const int64_t wanted = divide_up(n, int64_t{kThreads} * kVector);
  const auto blocks = static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks);
  if (type == InputType::kFloat32)
    amax_kernel<<<blocks, kThreads, 0, cuda_stream>>>(static_cast<const float*>(x), n, amax_bits);
  else
    amax_kernel<<<blocks, kThreads, 0, cuda_stream>>>(static_cast<const uint16_t*>(x), n, amax_bits);
  return text_of(cudaGetLastError());
}

template <Format F>
void launch_cast_as(const CastArguments& arguments, InputType type, dim3 grid, cudaStream_t stream) {
  if (type == InputType::kFloat32)
    cast_kernel<F, float><<<grid, kThreads, 0, stream>>>(arguments);
  else
    cast_kernel<F, uint16_t><<<grid, kThreads, 0, stream>>>(arguments);
}

const char* launch_cast(const CastArguments& arguments, InputType type, Format format, void* stream) {
  // Rows are tokens and run along x, which takes 2^31 blocks; y takes 65535, 4 million columns.
  const dim3 grid(static_cast<unsigned>(divide_up(arguments.padded_rows, kTile)),
                  static_cast<unsigned>(divide_up(arguments.columns, kTile)));
  if (format == Format::kE4M3)
    launch_cast_as<Format::kE4M3>(arguments, type, grid, static_cast<cudaStream_t>(stream));
  else
    launch_cast_as<Format::kE5M2>(arguments, type, grid, static_cast<cudaStream_t>(stream));
  return text_of(cudaGetLastError());
}

}  // namespace

const Kernels& cuda_kernels() {
  static const Kernels kernels{launch_amax, launch_cast};
  return kernels;
}

}  // namespace float8::device
