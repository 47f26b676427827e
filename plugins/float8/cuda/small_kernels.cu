/// Launchers of the kernels beside the casts. Compiled for every architecture, never run on a GPU.
#include "kernels.h"

#include "launch.h"
#include "small_kernels.h"

namespace float8::device {
namespace {

template <template <class> class Kernel>
const char* launch_as(const typename Kernel<float>::Arguments& a, InputType type, int64_t blocks,
                      void* stream) {
  return type == InputType::kFloat32 ? launch_kernel<Kernel<float>>(a, blocks, stream)
                                     : launch_kernel<Kernel<uint16_t>>(a, blocks, stream);
}

}  // namespace

const char* launch_amax(const AmaxArguments& a, InputType type, void* stream) {
  return launch_as<AmaxKernel>(a, type, AmaxKernel<float>::blocks(a.n), stream);
}

const char* launch_vector_amax(const VectorAmaxArguments& a, InputType type, void* stream) {
  return launch_as<VectorAmaxKernel>(a, type, tile_count(a.rows, a.columns), stream);
}

const char* launch_fill(const FillArguments& a, void* stream) {
  return launch_kernel<FillKernel>(a, divide_up(a.n, kThreads), stream);
}

const char* launch_finish(const FinishArguments& a, void* stream) {
  return launch_kernel<FinishKernel>(a, 1, stream);
}

const char* launch_stage(const StageArguments& a, void* stream) {
  return launch_kernel<StageKernel>(a, 1, stream);
}

const char* launch_update(const UpdateArguments& a, void* stream) {
  return launch_kernel<UpdateKernel>(a, a.count, stream);
}

const char* launch_epilogue(const EpilogueArguments& a, InputType type, void* stream) {
  return launch_as<EpilogueKernel>(
      a, type, divide_up(a.rows * a.columns, int64_t{kThreads} * kVector), stream);
}

const char* launch_sum(const SumArguments& a, InputType type, void* stream) {
  return launch_as<SumKernel>(a, type, divide_up(a.columns, kThreads), stream);
}

}  // namespace float8::device
