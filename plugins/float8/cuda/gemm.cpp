/// Never run on a GPU: descriptors are read back from the real library and products are checked
/// against a double that multiplies on the CPU.
#include "gemm.h"

#include <string>
#include <titan/cpp/error.hpp>

namespace float8::device {
namespace {

/// Operands and results come fresh from torch's allocator, which aligns to 512 bytes.
constexpr uint32_t kAlignment = 256;

cudaDataType_t type_of(Format format) {
  return format == Format::kE4M3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}
cudaDataType_t type_of(InputType type) { return type == InputType::kFloat32 ? CUDA_R_32F : CUDA_R_16BF; }

const char* text_of(Format format) { return format == Format::kE4M3 ? "e4m3" : "e5m2"; }

std::string describe(const GemmShape& s) {
  return "m=" + std::to_string(s.m) + " n=" + std::to_string(s.n) + " k=" + std::to_string(s.k) + ", " +
         text_of(s.a) + " x " + text_of(s.b) + " to " + (s.d == InputType::kFloat32 ? "float32" : "bfloat16") +
         ", lda=ldb=" + std::to_string(s.k) + " ldd=" + std::to_string(s.m) +
         (s.fast_accumulation ? ", fast accumulation" : "");
}

void check(const CublasLt& library, cublasStatus_t status, const std::string& doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw titan::sdk::Error(TITAN_FAILED,
                          "cuBLASLt " + std::to_string(library.get_version()) + " failed to " + doing + ": " +
                              library.get_status_string(status) + " (" + std::to_string(status) + ")",
                          "check that the driver is as new as the CUDA that torch was built for");
}

}  // namespace

GemmDescriptors::GemmDescriptors(const CublasLt& library, const GemmShape& s) : library_(library) {
  try {
    check(library, library.matmul_desc_create(&matmul_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(CUBLAS_OP_T), "TRANSA");
    set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(CUBLAS_OP_N), "TRANSB");
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<int8_t>(s.fast_accumulation), "FAST_ACCUM");
    const auto layout = [&](cublasLtMatrixLayout_t* out, cudaDataType_t type, int64_t rows, int64_t columns) {
      check(library, library.matrix_layout_create(out, type, static_cast<uint64_t>(rows),
                                                  static_cast<uint64_t>(columns), rows),
            "describe a matrix of " + describe(s));
    };
    layout(&a_, type_of(s.a), s.k, s.m);
    layout(&b_, type_of(s.b), s.k, s.n);
    layout(&d_, type_of(s.d), s.m, s.n);
  } catch (...) {
    release();
    throw;
  }
}

GemmDescriptors::~GemmDescriptors() { release(); }

void GemmDescriptors::release() noexcept {
  if (d_) library_.matrix_layout_destroy(d_);
  if (b_) library_.matrix_layout_destroy(b_);
  if (a_) library_.matrix_layout_destroy(a_);
  if (matmul_) library_.matmul_desc_destroy(matmul_);
}

template <class T>
void GemmDescriptors::set(cublasLtMatmulDescAttributes_t attribute, const T& value, const char* name) {
  check(library_, library_.matmul_desc_set_attribute(matmul_, attribute, &value, sizeof value),
        std::string("set ") + name);
}

void GemmDescriptors::set_scales(const float* inverse_a, const float* inverse_b) {
  // The scale mode stays at its default, one float32 for the whole matrix.
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, inverse_a, "A_SCALE_POINTER");
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, inverse_b, "B_SCALE_POINTER");
}

Gemm::Gemm(const CublasLt& library, int32_t capability_major)
    : library_(library), workspace_bytes_(capability_major >= 9 ? size_t{32} << 20 : size_t{4} << 20) {}

Gemm::~Gemm() {
  plans_.clear();
  if (handle_) library_.destroy(handle_);
}

Gemm::Plan& Gemm::find_plan(const GemmShape& shape, const GemmOperands& operands) {
  const auto found = plans_.find(shape);
  if (found != plans_.end()) return *found->second;
  // Why here and not in the constructor: the handle belongs to the device that is current now.
  if (!handle_) check(library_, library_.create(&handle_), "start");
  auto plan = std::unique_ptr<Plan>(new Plan{{library_, shape}, {}});
  // The choice of an algorithm must know that there are scales; which ones does not matter to it.
  plan->descriptors.set_scales(operands.inverse_scale_a, operands.inverse_scale_b);

  cublasLtMatmulPreference_t raw = nullptr;
  check(library_, library_.matmul_preference_create(&raw), "make preferences");
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                        decltype(library_.matmul_preference_destroy)>
      preference(raw, library_.matmul_preference_destroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(library_, library_.matmul_preference_set_attribute(raw, attribute, &value, sizeof value),
          "set a preference");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_bytes_));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kAlignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kAlignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kAlignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kAlignment);

  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  const cublasStatus_t status = library_.matmul_algo_get_heuristic(
      handle_, plan->descriptors.matmul(), plan->descriptors.a(), plan->descriptors.b(), plan->descriptors.d(),
      plan->descriptors.d(), raw, 1, &result, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0)
    throw titan::sdk::Error(
        TITAN_UNSUPPORTED,
        "cuBLASLt " + std::to_string(library_.get_version()) + " has no fp8 product for " + describe(shape) + ": " +
            library_.get_status_string(status) + " (" + std::to_string(status) + ")",
        "exclude this layer from float8, or install a torch built for a newer CUDA");
  plan->algorithm = result.algo;
  return *plans_.emplace(shape, std::move(plan)).first->second;
}

void Gemm::run(const GemmShape& shape, const GemmOperands& operands, void* stream) {
  const std::lock_guard lock(mutex_);
  Plan& plan = find_plan(shape, operands);
  plan.descriptors.set_scales(operands.inverse_scale_a, operands.inverse_scale_b);
  const float one = 1.0F;
  const float zero = 0.0F;
  // With beta 0 the matrix C is not read; D stands in for it.
  check(library_,
        library_.matmul(handle_, plan.descriptors.matmul(), &one, operands.a, plan.descriptors.a(), operands.b,
                        plan.descriptors.b(), &zero, operands.d, plan.descriptors.d(), operands.d,
                        plan.descriptors.d(), &plan.algorithm, operands.workspace, workspace_bytes_,
                        static_cast<cudaStream_t>(stream)),
        "multiply " + describe(shape));
}

}  // namespace float8::device
