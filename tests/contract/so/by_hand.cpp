/// Replaces modules of any kind by the same formula written out again, so that a run must give the
/// numbers it gave before. Nothing here calls the operators that the host's layers are made of.
#include <titan/torch.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "titan_note.h"

namespace {

using namespace titan::sdk;  // NOLINT
using T = torch::stable::Tensor;
using Weights = std::function<T(const std::string&)>;

T swap_last(const T& t) { return torch::stable::transpose(t, -2, -1); }
T times(const T& a, const T& b) { return torch_op("aten::mul", "Tensor", a, b); }
T plus(const T& a, const T& b) { return torch_op("titan::add", "", a, b, 1.0); }
T product(const T& x, const T& weight) { return torch::stable::matmul(x, swap_last(weight)); }

T norm(const T& x, const T& weight, double eps) {
  const std::optional<std::vector<int64_t>> last = std::vector<int64_t>{-1};
  const T mean = torch_op("aten::mean", "dim", times(x, x), last, true, std::nullopt);
  const T root = torch_op("aten::sqrt", "", torch_op("titan::add_scalar", "", mean, eps));
  return times(torch_op("aten::div", "Tensor", x, root), weight);
}

/// Pairs (2i, 2i+1) of x [B, S, H, D] turned by the angles of rope [S, D / 2, 2].
T turn(const T& x, const T& rope) {
  const int64_t batch = x.size(0), length = x.size(1), heads = x.size(2), half = x.size(3) / 2;
  const T pairs = torch::stable::reshape(x, {batch, length, heads, half, 2});
  const T even = torch::stable::select(pairs, -1, 0), odd = torch::stable::select(pairs, -1, 1);
  const T cos = torch::stable::reshape(torch::stable::select(rope, -1, 0), {1, length, 1, half});
  const T sin = torch::stable::reshape(torch::stable::select(rope, -1, 1), {1, length, 1, half});
  const T left = torch_op("titan::add", "", times(even, cos), times(odd, sin), -1.0);
  const T right = plus(times(even, sin), times(odd, cos));
  const std::vector<T> both = {left, right};
  return torch::stable::reshape(torch_op("aten::stack", "", both, int64_t{-1}),
                                {batch, length, heads, 2 * half});
}

/// 0 where a position may look, minus infinity where it may not: [S, S].
T causal_mask(int64_t length) {
  titan_tensor* made = nullptr;
  const int64_t shape[2] = {length, length};
  check(host().tensor_empty({TITAN_CPU, 0}, {TITAN_DTYPE_FLOAT, 32, 1}, 2, shape, &made));
  const Tensor owned(made);
  float* values = owned.ref().data<float>();
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < length; ++j)
      values[i * length + j] = j <= i ? 0.0f : -std::numeric_limits<float>::infinity();
  return to_torch(owned.ref());
}

struct Heads {
  int64_t q = 0, kv = 0, size = 0;
};

T attention(const T& x, const T& rope, const Heads& heads, const Weights& weight) {
  const int64_t batch = x.size(0), length = x.size(1), group = heads.q / heads.kv;
  const auto project = [&](const char* name, int64_t count) {
    return torch::stable::reshape(product(x, weight(name)), {batch, length, count, heads.size});
  };
  // A key head serves `group` query heads: it gets a dimension for them to broadcast along.
  const auto per_head = [&](const T& t, int64_t count, int64_t inner) {
    return torch::stable::reshape(torch::stable::transpose(t, 1, 2),
                                  {batch, count, inner, length, heads.size});
  };
  const T q = per_head(turn(project("wq.weight", heads.q), rope), heads.kv, group);
  const T k = per_head(turn(project("wk.weight", heads.kv), rope), heads.kv, 1);
  const T v = per_head(project("wv.weight", heads.kv), heads.kv, 1);
  const T scores = torch_op("titan::mul_scalar", "", torch::stable::matmul(q, swap_last(k)),
                            1.0 / std::sqrt(static_cast<double>(heads.size)));
  const T shares = torch_op("aten::softmax", "int", plus(scores, causal_mask(length)), int64_t{-1},
                            std::nullopt);
  const T mixed = torch::stable::reshape(torch::stable::matmul(shares, v),
                                         {batch, heads.q, length, heads.size});
  const T joined = torch::stable::reshape(torch::stable::transpose(mixed, 1, 2),
                                          {batch, length, heads.q * heads.size});
  return product(joined, weight("wo.weight"));
}

T feed_forward(const T& x, const Weights& weight) {
  const T gate = product(x, weight("w1.weight"));
  const T open = times(gate, torch_op("aten::sigmoid", "", gate));
  return product(times(open, product(x, weight("w3.weight"))), weight("w2.weight"));
}

/// `formula` gets the call and a way to the parameters by relative name.
class ByFormula final : public Impl {
 public:
  using Formula = std::function<T(const Call&, const Weights&)>;
  explicit ByFormula(Formula formula) : Impl(Gradients::kTorch), formula_(std::move(formula)) {}
  void forward(const Call& call) override {
    const Weights weights = [&](const std::string& name) { return to_torch(call.get(name)); };
    call.set("y", from_torch(formula_(call, weights)));
  }

 private:
  Formula formula_;
};

class ByHand {
 public:
  explicit ByHand(const Create& create) : kind_(create.option<std::string>("kind")) {}

  void convert(const Model& model) const {
    for (const Module& module : model.modules(kind_))
      module.replace(std::make_unique<ByFormula>(formula(model, module)));
  }

 private:
  static Heads heads_of(const Module& module) {
    const auto number = [&](const char* name) {
      return static_cast<int64_t>(module.attribute(name));
    };
    return {number("n_heads"), number("n_kv_heads"), number("head_dim")};
  }

  ByFormula::Formula formula(const Model& model, const Module& module) const {
    if (kind_ == "linear")
      return [](const Call& call, const Weights& weight) {
        return product(to_torch(call.get("x")), weight("weight"));
      };
    if (kind_ == "rms_norm")
      return [eps = module.attribute("eps")](const Call& call, const Weights& weight) {
        return norm(to_torch(call.get("x")), weight("weight"), eps);
      };
    if (kind_ == "embedding")
      return [](const Call& call, const Weights& weight) {
        const T ids = to_torch(call.get("ids"));
        const T table = weight("weight");
        const T rows = torch_op("aten::index_select", "", table, int64_t{0},
                                torch::stable::reshape(ids, {ids.numel()}));
        return torch::stable::reshape(rows, {ids.size(0), ids.size(1), table.size(1)});
      };
    if (kind_ == "attention")
      return [heads = heads_of(module)](const Call& call, const Weights& weight) {
        return attention(to_torch(call.get("x")), to_torch(call.get("rope")), heads, weight);
      };
    if (kind_ == "feed_forward")
      return [](const Call& call, const Weights& weight) {
        return feed_forward(to_torch(call.get("x")), weight);
      };
    // A block: everything above, with the parameters of the modules below it.
    const Heads heads = heads_of(*model.find(module.fqn() + ".attention"));
    const double eps = model.find(module.fqn() + ".attention_norm")->attribute("eps");
    return [heads, eps](const Call& call, const Weights& weight) {
      const auto below = [&weight](const char* path) {
        return [&weight, path](const std::string& name) { return weight(path + name); };
      };
      const T x = to_torch(call.get("x"));
      const T h = plus(x, attention(norm(x, weight("attention_norm.weight"), eps),
                                    to_torch(call.get("rope")), heads, below("attention.")));
      return plus(h, feed_forward(norm(h, weight("ffn_norm.weight"), eps), below("feed_forward.")));
    };
  }

  std::string kind_;
};

/// Records nothing but values: which parameters are frozen, which are the same.
class Values {
 public:
  explicit Values(const Create& create)
      : freeze_(create.option_list<std::string>("freeze")), tie_(create.option<bool>("tie")) {}
  void convert(const Model& model) const {
    for (const std::string& name : freeze_) model.find(name)->freeze("weight");
    if (tie_) model.find("output")->tie("weight", *model.find("tok_embeddings"), "weight");
  }

 private:
  std::vector<std::string> freeze_;
  bool tie_;
};

/// Adds a parameter for each rule of initial values and reports what the host made of it.
class Inits {
 public:
  explicit Inits(const Create&) {}
  void convert(const Model& model) const {
    const Module linear = *model.find("layers.0.attention.wq");
    const std::vector<int64_t> shape = {64, 256};
    linear.add_parameter("constant", shape, init_constant(0.25));
    linear.add_parameter("normal", shape, init_normal(1.0, 0.5));
    linear.add_parameter("uniform", shape, init_uniform(-2.0, 3.0));
    linear.add_parameter("kaiming", shape, init_kaiming_uniform());
    std::vector<int64_t> own;
    for (const titan_parameter_info& parameter : linear.parameters())
      own.assign(parameter.shape, parameter.shape + parameter.ndim);
    linear.add_parameter("copy", own, init_copy("weight"));
    linear.observe(std::make_unique<Report>());
  }

 private:
  class Report final : public Observer {
   public:
    void observe(const Call& call) override {
      for (const char* name : {"constant", "normal", "uniform", "kaiming"}) {
        const TensorRef tensor = call.get(name);
        const float* values = tensor.data<float>();
        double sum = 0, squares = 0, least = values[0], most = values[0];
        for (int64_t i = 0; i < tensor.numel(); ++i) {
          sum += values[i];
          squares += static_cast<double>(values[i]) * values[i];
          least = std::fmin(least, values[i]);
          most = std::fmax(most, values[i]);
        }
        const double mean = sum / static_cast<double>(tensor.numel());
        const std::string prefix = name;
        call.metric(prefix + ".mean", mean);
        call.metric(prefix + ".std",
                    std::sqrt(squares / static_cast<double>(tensor.numel()) - mean * mean));
        call.metric(prefix + ".min", least);
        call.metric(prefix + ".max", most);
      }
      const TensorRef weight = call.get("weight"), copy = call.get("copy");
      double different = 0;
      for (int64_t i = 0; i < copy.numel(); ++i)
        different += weight.data<float>()[i] != copy.data<float>()[i];
      call.metric("copy.different", different);
    }
  };
};

}  // namespace

TITAN_CONVERTERS(converter<ByHand>("by_hand"), converter<Values>("values"),
                 converter<Inits>("inits"))
