/// float8 on the GPU, put together from the casts and cuBLASLt's products.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "../backend.h"
#include "device_cast.h"
#include "gemm.h"

namespace float8::device {

/// Never run on a GPU. Tests run it on CPU tensors, with loops for grids and a double for cuBLASLt.
///
/// Tokens are padded with zeros to a multiple of 16 (mxfp8: 32): they are the dimension that the
/// weight's gradient sums over. x and w leave forward in fp8 in both layouts, so backward reads
/// neither again.
class CudaBackend final : public Backend {
 public:
  /// `library` is called at the first product.
  CudaBackend(const Plan& plan, const DeviceSettings& settings, const CublasLt& (*library)());
  Forward forward(const ForwardCall& call) override;
  Backward backward(const BackwardCall& call) override;
  CastReport measure(const Matrix& a, const Cast& cast, const std::optional<Matrix>& stored,
                     void* stream) override;
  size_t kept_count() const override { return 4; }
  std::unique_ptr<LayerMemory> make_memory() const override;
  void stage(const std::vector<Staged>& staged, void* stream) override;
  void update(const std::vector<DelayedState>& states, const DelayedOptions& options,
              void* stream) override;
  /// Kept from call to call, each of a shape, types, modes and alignment.
  size_t plan_count() { return gemm().plan_count(); }

 private:
  /// One of the products y, dx and dw.
  struct Want {
    Matrix like;  ///< gives the device and, unless `float32`, the type of the result
    bool fast = false;
    bool float32 = false;
    std::optional<Matrix> bias = std::nullopt;
    std::optional<Matrix> into = std::nullopt;  ///< float32: the product is added to it
    void* stream = nullptr;
  };
  Gemm& gemm();
  ScaleMode mode_of(Granularity granularity) const;
  Matrix workspace(const Matrix& like, void* stream);
  /// left [M, K] times right [N, K] transposed: [M, N].
  Matrix multiply(const Operand& left, const Operand& right, const Want& want);
  Quantised quantise_weight(const ForwardCall& call);
  Matrix high_precision_w(const Matrix& grad_y, const Matrix& x, bool float32) const;

  Plan plan_;
  DeviceSettings settings_;
  const CublasLt& (*library_)();
  std::once_flag opened_;
  std::unique_ptr<Gemm> gemm_;
  std::atomic<uint64_t> updates_{0};  ///< recipe delayed: how often scales have moved
  std::mutex mutex_;
  std::map<void*, Matrix> workspaces_;  ///< one a stream: products of two streams must not share it
};

}  // namespace float8::device
