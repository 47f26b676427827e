/// fp8 matrix products through cuBLASLt, with descriptors and algorithms kept between calls.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "../format.h"
#include "cublaslt_table.h"

namespace float8::device {

/// D = A^T B in cuBLASLt's column-major terms: A is [k, m], B is [k, n], D is [m, n], each with its
/// first dimension contiguous. Seen row-major: D [n, m] = B [n, k] times A [m, k] transposed.
/// Why only this layout: Ada, Hopper and GeForce Blackwell have fp8 products for no other one.
struct GemmShape {
  int64_t m, n, k;
  Format a, b;
  InputType d;
  /// Lets Ada and Hopper keep fewer bits of the running sum: for forward only. Summing over tokens
  /// that way loses digits with every thousand of them.
  bool fast_accumulation;

  auto key() const { return std::tie(m, n, k, a, b, d, fast_accumulation); }
  bool operator<(const GemmShape& other) const { return key() < other.key(); }
};

/// What changes from call to call. Device pointers, aligned to 16 bytes; scales are single floats
/// that the product is multiplied by.
struct GemmOperands {
  const void* a;
  const void* b;
  const float* inverse_scale_a;
  const float* inverse_scale_b;
  void* d;
  void* workspace;  ///< aligned to 256 bytes
};

/// The objects cuBLASLt describes one product with.
class GemmDescriptors {
 public:
  GemmDescriptors(const CublasLt& library, const GemmShape& shape);
  ~GemmDescriptors();
  GemmDescriptors(const GemmDescriptors&) = delete;
  GemmDescriptors& operator=(const GemmDescriptors&) = delete;

  void set_scales(const float* inverse_a, const float* inverse_b);
  cublasLtMatmulDesc_t matmul() const { return matmul_; }
  cublasLtMatrixLayout_t a() const { return a_; }
  cublasLtMatrixLayout_t b() const { return b_; }
  cublasLtMatrixLayout_t d() const { return d_; }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value, const char* name);
  void release() noexcept;

  const CublasLt& library_;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
};

/// Runs products on one device. Safe to use from several threads.
class Gemm {
 public:
  /// `capability_major` decides how much workspace the kernels may ask for.
  Gemm(const CublasLt& library, int32_t capability_major);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  size_t workspace_bytes() const { return workspace_bytes_; }
  /// Queues the product on `stream`, a cudaStream_t of the current device.
  void run(const GemmShape& shape, const GemmOperands& operands, void* stream);
  size_t plan_count() const { return plans_.size(); }

 private:
  struct Plan {
    GemmDescriptors descriptors;
    cublasLtMatmulAlgo_t algorithm;
  };
  Plan& find_plan(const GemmShape& shape, const GemmOperands& operands);

  const CublasLt& library_;
  size_t workspace_bytes_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;  ///< guards the plans; also from setting the scales until the product is queued
  std::map<GemmShape, std::unique_ptr<Plan>> plans_;
};

}  // namespace float8::device
