/// fp8 matrix products through cuBLASLt, with descriptors and algorithms kept between calls.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "../format.h"
#include "cublaslt_table.h"

namespace float8::device {

/// How an operand is scaled: cublasLtMatmulMatrixScale_t, by number, as the names came one by one
/// (cuBLASLt 12.8 and 12.9). Which devices have which: cuBLAS manual, "Narrow precision usage".
enum class ScaleMode : int32_t {
  kScalar = 0,   ///< SCALAR_32F: one float32
  k1x32 = 2,     ///< VEC32_UE8M0: e8m0, swizzled
  kVector = 3,   ///< OUTER_VEC_32F: a float32 for each row
  k1x128 = 4,    ///< VEC128_32F
  k128x128 = 5,  ///< BLK128x128_32F
  kUnit = -1,    ///< SCALAR_32F without a pointer: 1
};
std::string_view scale_mode_name(ScaleMode mode);

/// D = A^T B in cuBLASLt's column-major terms: A is [k, m], B is [k, n], D is [m, n], each with its
/// first dimension contiguous. Seen row-major: D [n, m] = B [n, k] times A [m, k] transposed.
/// Why only this layout: Ada, Hopper and GeForce Blackwell have fp8 products for no other one.
struct GemmShape {
  int64_t m, n, k;
  Format a, b;
  InputType d;
  ScaleMode a_scale = ScaleMode::kScalar, b_scale = ScaleMode::kScalar;
  /// Lets Ada and Hopper keep fewer bits of the running sum. Summing over tokens that way loses
  /// digits with every thousand of them.
  bool fast_accumulation = false;
  bool bias = false;        ///< added in float32 before the one rounding; d is bfloat16
  bool accumulate = false;  ///< D += instead of D =; d is float32

  auto key() const {
    return std::tie(m, n, k, a, b, d, a_scale, b_scale, fast_accumulation, bias, accumulate);
  }
  bool operator<(const GemmShape& other) const { return key() < other.key(); }
};

/// What changes from call to call: device pointers. Scales are what the product is multiplied by.
struct GemmOperands {
  const void* a;
  const void* b;
  const void* a_scales;  ///< null for kUnit; aligned to 16 bytes but for kScalar
  const void* b_scales;
  void* d;
  const void* bias;  ///< [m] in the type of D, with GemmShape::bias
  void* workspace;   ///< aligned to 256 bytes
};

/// What errors name, and what the choice of workspace and separators depends on.
struct GemmDevice {
  int32_t capability_major = 0;
  int32_t capability_minor = 0;
};

/// The objects cuBLASLt describes one product with.
class GemmDescriptors {
 public:
  GemmDescriptors(const CublasLt& library, const GemmShape& shape);
  ~GemmDescriptors();
  GemmDescriptors(const GemmDescriptors&) = delete;
  GemmDescriptors& operator=(const GemmDescriptors&) = delete;

  void set_pointers(const GemmOperands& operands);
  cublasLtMatmulDesc_t matmul() const { return matmul_; }
  cublasLtMatrixLayout_t a() const { return a_; }
  cublasLtMatrixLayout_t b() const { return b_; }
  cublasLtMatrixLayout_t d() const { return d_; }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value, const char* name);
  void describe(const GemmShape& shape);
  void release() noexcept;

  const CublasLt& library_;
  GemmShape shape_;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
};

/// Runs products on one device. Safe to use from several threads.
class Gemm {
 public:
  Gemm(const CublasLt& library, const GemmDevice& device);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// Hopper and newer: 32 MiB, as NVIDIA recommends; before: 4 MiB.
  size_t workspace_bytes() const { return workspace_bytes_; }
  /// Queues the product on `stream`, a cudaStream_t of the current device. Throws TITAN_UNSUPPORTED
  /// if cuBLASLt has no algorithm for it, TITAN_FAILED for its other errors; both name the product.
  void run(const GemmShape& shape, const GemmOperands& operands, void* stream);
  size_t plan_count() const { return plans_.size(); }

 private:
  /// Bytes that A, B and D are aligned to, at most 256: an algorithm may rely on it.
  using Alignment = std::tuple<uint32_t, uint32_t, uint32_t>;
  struct Plan {
    GemmDescriptors descriptors;
    cublasLtMatmulAlgo_t algorithm;
  };
  Plan& find_plan(const GemmShape& shape, const GemmOperands& operands);
  [[noreturn]] void refuse(const GemmShape& shape, const Alignment& alignment,
                           cublasStatus_t status) const;

  const CublasLt& library_;
  GemmDevice device_;
  size_t workspace_bytes_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex
      mutex_;  ///< guards the plans; also from setting the pointers until the product is queued
  std::map<std::pair<GemmShape, Alignment>, std::unique_ptr<Plan>> plans_;
};

}  // namespace float8::device
