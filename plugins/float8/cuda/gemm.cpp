/// Never run on a GPU: descriptors are read back from the real library and products are checked
/// against a double that multiplies on the CPU.
#include "gemm.h"

#include <string>
#include <titan/cpp/error.hpp>

namespace float8::device {
namespace {

static_assert(static_cast<int>(ScaleMode::kScalar) == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
static_assert(static_cast<int>(ScaleMode::k1x32) == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0);
static_assert(static_cast<int>(ScaleMode::kVector) == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
static_assert(static_cast<int>(ScaleMode::k1x128) == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
static_assert(static_cast<int>(ScaleMode::k128x128) == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);

cudaDataType_t type_of(Format format) {
  return format == Format::kE4M3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}
cudaDataType_t type_of(InputType type) {
  return type == InputType::kFloat32 ? CUDA_R_32F : CUDA_R_16BF;
}

const char* text_of(Format format) { return format == Format::kE4M3 ? "e4m3" : "e5m2"; }

std::string describe(const GemmShape& s) {
  return "m=" + std::to_string(s.m) + " n=" + std::to_string(s.n) + " k=" + std::to_string(s.k) +
         ", " + text_of(s.a) + " x " + text_of(s.b) + " to " +
         (s.d == InputType::kFloat32 ? "float32" : "bfloat16") +
         ", lda=ldb=" + std::to_string(s.k) + " ldd=" + std::to_string(s.m) + ", scales " +
         std::string(scale_mode_name(s.a_scale)) + " x " + std::string(scale_mode_name(s.b_scale)) +
         (s.fast_accumulation ? ", fast accumulation" : "") + (s.bias ? ", bias" : "") +
         (s.accumulate ? ", accumulating" : "");
}

void check(const CublasLt& library, cublasStatus_t status, const std::string& doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw titan::sdk::Error(TITAN_FAILED,
                          "cuBLASLt " + std::to_string(library.get_version()) + " failed to " +
                              doing + ": " + library.get_status_string(status) + " (" +
                              std::to_string(status) + ")",
                          "check that the driver is as new as the CUDA that torch was built for");
}

uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  uint32_t bytes = 256;
  while (address % bytes != 0) bytes /= 2;
  return bytes;
}

/// Up to 12.8.3 the library's own cache took a product in blocks of 32 for one with a scale a
/// tensor, and gave its algorithm. An attribute that neither uses keeps the two apart (as
/// TransformerEngine does).
constexpr size_t kCacheToldApart = 120804;

}  // namespace

std::string_view scale_mode_name(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::kScalar: return "SCALAR_32F";
    case ScaleMode::k1x32: return "VEC32_UE8M0";
    case ScaleMode::kVector: return "OUTER_VEC_32F";
    case ScaleMode::k1x128: return "VEC128_32F";
    case ScaleMode::k128x128: return "BLK128x128_32F";
    case ScaleMode::kUnit: return "1";
  }
  return "";
}

GemmDescriptors::GemmDescriptors(const CublasLt& library, const GemmShape& shape)
    : library_(library), shape_(shape) {
  try {
    describe(shape);
  } catch (...) {
    release();
    throw;
  }
}

void GemmDescriptors::describe(const GemmShape& s) {
  check(library_, library_.matmul_desc_create(&matmul_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "describe a product");
  set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(CUBLAS_OP_T), "TRANSA");
  set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(CUBLAS_OP_N), "TRANSB");
  set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<int8_t>(s.fast_accumulation), "FAST_ACCUM");
  // The mode of one float32 is the default, and libraries before 12.8 do not know that there are
  // modes.
  const auto set_mode = [&](cublasLtMatmulDescAttributes_t attribute, ScaleMode mode,
                            const char* name) {
    if (mode != ScaleMode::kScalar && mode != ScaleMode::kUnit)
      set(attribute, static_cast<int32_t>(mode), name);
  };
  set_mode(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, s.a_scale, "A_SCALE_MODE");
  set_mode(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, s.b_scale, "B_SCALE_MODE");
  if (s.a_scale == ScaleMode::k1x32 && library_.get_version() < kCacheToldApart)
    set(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, int64_t{1}, "ALPHA_VECTOR_BATCH_STRIDE");
  if (s.bias) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<int32_t>(CUBLASLT_EPILOGUE_BIAS), "EPILOGUE");
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(CUDA_R_16BF), "BIAS_DATA_TYPE");
  }
  const auto layout = [&](cublasLtMatrixLayout_t* out, cudaDataType_t type, int64_t rows,
                          int64_t columns) {
    check(library_,
          library_.matrix_layout_create(out, type, static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(columns), rows),
          "describe a matrix of " + device::describe(s));
  };
  layout(&a_, type_of(s.a), s.k, s.m);
  layout(&b_, type_of(s.b), s.k, s.n);
  layout(&d_, type_of(s.d), s.m, s.n);
}

GemmDescriptors::~GemmDescriptors() { release(); }

void GemmDescriptors::release() noexcept {
  if (d_) library_.matrix_layout_destroy(d_);
  if (b_) library_.matrix_layout_destroy(b_);
  if (a_) library_.matrix_layout_destroy(a_);
  if (matmul_) library_.matmul_desc_destroy(matmul_);
}

template <class T>
void GemmDescriptors::set(cublasLtMatmulDescAttributes_t attribute, const T& value,
                          const char* name) {
  check(library_, library_.matmul_desc_set_attribute(matmul_, attribute, &value, sizeof value),
        std::string("set ") + name + " of a product");
}

void GemmDescriptors::set_pointers(const GemmOperands& operands) {
  if (shape_.a_scale != ScaleMode::kUnit)
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.a_scales, "A_SCALE_POINTER");
  if (shape_.b_scale != ScaleMode::kUnit)
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.b_scales, "B_SCALE_POINTER");
  if (shape_.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias, "BIAS_POINTER");
}

Gemm::Gemm(const CublasLt& library, const GemmDevice& device)
    : library_(library),
      device_(device),
      workspace_bytes_(device.capability_major >= 9 ? size_t{32} << 20 : size_t{4} << 20) {}

Gemm::~Gemm() {
  plans_.clear();
  if (handle_) library_.destroy(handle_);
}

void Gemm::refuse(const GemmShape& shape, const Alignment& alignment, cublasStatus_t status) const {
  const auto [a, b, d] = alignment;
  throw titan::sdk::Error(
      TITAN_UNSUPPORTED,
      "cuBLASLt " + std::to_string(library_.get_version()) + " has no fp8 product for " +
          describe(shape) + ", aligned to " + std::to_string(a) + ", " + std::to_string(b) +
          " and " + std::to_string(d) + " bytes, on compute capability " +
          std::to_string(device_.capability_major) + "." +
          std::to_string(device_.capability_minor) + ": " + library_.get_status_string(status) +
          " (" + std::to_string(status) + ")",
      "exclude this layer from float8, choose another recipe, or install a torch built for a newer "
      "CUDA");
}

Gemm::Plan& Gemm::find_plan(const GemmShape& shape, const GemmOperands& operands) {
  const Alignment alignment{alignment_of(operands.a), alignment_of(operands.b),
                            alignment_of(operands.d)};
  const auto key = std::make_pair(shape, alignment);
  const auto found = plans_.find(key);
  if (found != plans_.end()) return *found->second;
  // Why here and not in the constructor: the handle belongs to the device that is current now.
  if (!handle_) check(library_, library_.create(&handle_), "start");
  auto plan = std::unique_ptr<Plan>(new Plan{{library_, shape}, {}});
  // The choice of an algorithm must know that there are scales; which ones does not matter to it.
  plan->descriptors.set_pointers(operands);

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
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::get<0>(alignment));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::get<1>(alignment));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::get<2>(alignment));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::get<2>(alignment));

  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  const cublasStatus_t status = library_.matmul_algo_get_heuristic(
      handle_, plan->descriptors.matmul(), plan->descriptors.a(), plan->descriptors.b(),
      plan->descriptors.d(), plan->descriptors.d(), raw, 1, &result, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0) refuse(shape, alignment, status);
  plan->algorithm = result.algo;
  return *plans_.emplace(key, std::move(plan)).first->second;
}

void Gemm::run(const GemmShape& shape, const GemmOperands& operands, void* stream) {
  const std::lock_guard lock(mutex_);
  Plan& plan = find_plan(shape, operands);
  plan.descriptors.set_pointers(operands);
  const float alpha = 1.0F;
  const float beta = shape.accumulate ? 1.0F : 0.0F;
  // With beta 0 the matrix C is not read; D stands in for it.
  check(library_,
        library_.matmul(handle_, plan.descriptors.matmul(), &alpha, operands.a,
                        plan.descriptors.a(), operands.b, plan.descriptors.b(), &beta, operands.d,
                        plan.descriptors.d(), operands.d, plan.descriptors.d(), &plan.algorithm,
                        operands.workspace, workspace_bytes_, static_cast<cudaStream_t>(stream)),
        "multiply " + describe(shape));
}

}  // namespace float8::device
