#include "linear.h"

#include <string>
#include <titan/torch.hpp>
#include <vector>

#include "matrix.h"

namespace float8 {
namespace {

using titan::sdk::Call;
using titan::sdk::from_torch;
using titan::sdk::to_torch;

/// [.., columns] as a contiguous matrix; a view where torch can make one.
Matrix as_matrix(const Matrix& a) {
  const auto sizes = a.sizes();
  const int64_t columns = sizes[sizes.size() - 1];
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
  const std::array<int64_t, 2> shape{rows, columns};
  return torch::stable::contiguous(torch::stable::reshape(a, {shape.data(), shape.size()}));
}

/// A matrix with `columns` columns in the leading dimensions of `like`.
Matrix in_shape_of(const Matrix& matrix, const Matrix& like, int64_t columns) {
  const auto sizes = like.sizes();
  std::vector<int64_t> shape(sizes.begin(), sizes.end());
  shape.back() = columns;
  return torch::stable::reshape(matrix, {shape.data(), shape.size()});
}

/// Second half of the promise that layers with other sizes were left alone at conversion.
void check_types(const Matrix& x, const Matrix& w) {
  input_type(x);
  if (x.scalar_type() != w.scalar_type())
    throw titan::sdk::Error(TITAN_INTERNAL, std::string("the input is ") +
                                                torch::headeronly::toString(x.scalar_type()) +
                                                " and the weight " +
                                                torch::headeronly::toString(w.scalar_type()));
}

/// Saved by forward in this order.
enum Saved : uint64_t { kInput, kWeight, kAmax };

}  // namespace

void Float8Linear::forward(const Call& call) {
  const titan::sdk::TensorRef x_ref = call.get("x");
  const titan::sdk::TensorRef w_ref = call.get("weight");
  const Matrix x = to_torch(x_ref);
  const Matrix w = to_torch(w_ref);
  check_types(x, w);
  const titan_call_info info = call.info();
  const Forward result = backend_->forward(as_matrix(x), as_matrix(w), info.stream);
  if (info.flags & TITAN_CALL_GRAD_ENABLED) {
    call.save(x_ref);
    call.save(w_ref);
    call.save(from_torch(result.amax).ref());
  }
  call.set("y", from_torch(in_shape_of(result.y, x, w.size(0))));
}

void Float8Linear::backward(const Call& call) {
  const Matrix x = to_torch(call.saved(kInput));
  const Matrix w = to_torch(call.saved(kWeight));
  const Matrix amax = to_torch(call.saved(kAmax));
  const bool needs_x = call.needs_grad("x");
  const bool needs_w = call.needs_grad("weight");
  if (!needs_x && !needs_w) return;
  const Backward grads = backend_->backward(as_matrix(to_torch(call.grad_output())), as_matrix(x), as_matrix(w), amax,
                                            needs_x, needs_w, call.info().stream);
  if (needs_x) call.set_grad("x", from_torch(in_shape_of(*grads.x, x, w.size(1))));
  if (needs_w) call.set_grad("weight", from_torch(*grads.w));
}

}  // namespace float8
