/// The module tree: named slots that hold modules, modules that hold parameters, and the places
/// where converters change what a module does.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/init_rule.h"
#include "model/layout.h"

namespace titan::model {

class KvCache;
class MixedPrecision;

/// What one forward call needs to know about the run; passed to every module.
struct CallContext {
  int64_t step = 0;         ///< 1-based optimizer step this call contributes to
  int64_t micro_batch = 0;  ///< 0-based within the step
  bool training = false;
  void* stream = nullptr;  ///< CUDA: the cudaStream_t of this run; null on the CPU
  bool recompute = false;  ///< activation checkpointing runs this forward a second time
  /// Looks for the plugin that makes numbers that are not finite out of finite ones; slow.
  bool find_nonfinite = false;
  /// Receives converter metrics of this step, `<instance>/<fqn>.<name>` to value; may be null.
  std::map<std::string, double>* metrics = nullptr;
  /// Type that linears and attention compute in; null: the parameters' own. Must outlive the graph.
  MixedPrecision* mixed_precision = nullptr;
  /// Generation: the tokens go on from those that it holds; see kv_cache.h. Null: they are the
  /// whole sequence.
  KvCache* kv_cache = nullptr;
};

/// Inputs of a module in the order of its kind (see kinds.h). An optional input that is not given
/// is an undefined tensor.
using Inputs = std::vector<at::Tensor>;

/// One parameter. Tied parameters are the same object under several modules.
struct Parameter {
  at::Tensor tensor;  ///< on meta until materialised; afterwards the handle stays the same
  InitRule init;
  std::string init_key;  ///< keys its generator: the name it was first declared under
  /// Name in checkpoints when it is not the fqn: `<instance>/<fqn>.<name>` for added parameters.
  std::string stored_as;
  /// Stock parameters that this one stands for; in files they have their own names and shapes.
  std::vector<LayoutPart> layout = {};
  uint64_t version = 0;  ///< raised by optimizer step, load and (later) unshard
};

/// One buffer: state that takes no gradient.
struct Buffer {
  at::Tensor tensor;
  InitRule init;
  std::string stored_as;
  bool persistent = true;
  bool reduce_max = false;  ///< distributed runs take the maximum over ranks once a step
};

/// A parameter under the name its module knows it by ("weight"; "<instance>/<name>" if added). The
/// name is the module's, the parameter may be shared: that is what tying is.
struct OwnParameter {
  std::string name;
  std::shared_ptr<Parameter> parameter;
};
struct OwnBuffer {
  std::string name;
  std::shared_ptr<Buffer> buffer;
};

/// What a module keeps of its forward for the backward; see recompute.h.
enum class Recompute {
  kNothing,    ///< every activation is kept
  kAll,        ///< only the inputs are kept; backward runs the forward a second time
  kAllButOps,  ///< as kAll, but the results of the most expensive operators are kept too
};

class Module;

/// Takes the place of a module's own forward, or leaves it to it by giving an undefined tensor.
class Replacement {
 public:
  virtual ~Replacement() = default;
  virtual at::Tensor forward(Module& module, const CallContext& context, const Inputs& inputs) = 0;
  virtual void drop() {}  ///< parameters were freed or moved: forget caches
};

/// Runs around a module. Wraps nest in the order they were added, the first innermost. `after` gets
/// the inputs as this wrap's own `before` left them.
class Wrap {
 public:
  virtual ~Wrap() = default;
  virtual void before(Module&, const CallContext&, Inputs&) {}
  virtual at::Tensor after(Module&, const CallContext&, const Inputs&, at::Tensor output) {
    return output;
  }
  virtual void drop() {}
};

/// Sees the inputs that the caller gave and the final output of a module, changes nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void observe(Module& module, const CallContext& context, const Inputs& inputs,
                       const at::Tensor& output) = 0;
};

/// A named place in a module where another module sits. Parents call through the slot, so a module
/// can be exchanged at any time without anybody holding a stale pointer.
class Slot {
 public:
  Slot(std::string name, std::unique_ptr<Module> module);
  ~Slot();
  const std::string& name() const { return name_; }
  Module& operator*() const { return *module_; }
  Module* operator->() const { return module_.get(); }
  /// Puts another module of the same kind here, gives it the name of the one that was here and
  /// returns that one; throws a usage error if the kinds differ.
  std::unique_ptr<Module> exchange(std::unique_ptr<Module> module);

 private:
  std::string name_;
  std::unique_ptr<Module> module_;
};

/// Base of every layer. A call runs: wraps' `before` (outermost first), the replacement or the
/// module's own forward, wraps' `after` (innermost first), then the observers with gradients off.
/// All of them see x in the type that the module's kind computes in (mixed_precision.h).
class Module {
 public:
  explicit Module(std::string_view kind) : kind_(kind) {}
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  at::Tensor operator()(const CallContext& context, Inputs inputs);

  const std::string& kind() const { return kind_; }
  const std::string& fqn() const { return fqn_; }  ///< "" for the root
  /// Numbers of the kind ("in_features", "eps"); see kinds.h for the names.
  const std::map<std::string, double>& attributes() const { return attributes_; }

  const std::vector<OwnParameter>& parameters() const { return parameters_; }
  std::vector<OwnParameter>& parameters() { return parameters_; }
  const std::vector<OwnBuffer>& buffers() const { return buffers_; }
  const std::vector<std::unique_ptr<Slot>>& children() const { return children_; }

  /// Own parameter by name, e.g. "weight"; an internal error if there is none.
  Parameter& parameter(std::string_view name) const;
  /// Module below by relative name ("attention.wq", "" for itself), or null.
  Module* find(std::string_view relative_name);

  /// Adds what a converter declared; the name must be free.
  void attach_parameter(std::string name, std::shared_ptr<Parameter> parameter);
  void attach_buffer(std::string name, std::shared_ptr<Buffer> buffer);
  /// Takes out an own parameter that now lives on inside another one.
  void detach_parameter(std::string_view name);

  void set_replacement(std::unique_ptr<Replacement> replacement);
  void add_wrap(std::unique_ptr<Wrap> wrap);
  void add_observer(std::unique_ptr<Observer> observer);
  bool replaced() const { return replacement_ != nullptr; }
  bool wrapped() const { return !wraps_.empty(); }
  bool observed() const { return !observers_.empty(); }
  /// Activation checkpointing of this module and what is below it: see recompute.h.
  void set_recompute(Recompute recompute) { recompute_ = recompute; }
  /// Shows the observers a call that was computed without operator(): see training_loss.cpp.
  void show(const CallContext& context, const Inputs& inputs, const at::Tensor& output);
  void drop_caches();  ///< calls drop() of the replacement and the wraps

  /// Gives this module and all below their names. The root calls it once after construction and
  /// whenever a slot was exchanged.
  void assign_names(const std::string& fqn);

 protected:
  virtual at::Tensor forward(const CallContext& context, const Inputs& inputs) = 0;
  /// Whether forward, under mixed precision, brings x to the compute type by itself, so that the
  /// gradient of x stays in the type of the residual stream.
  virtual bool narrows_itself() const { return false; }

  /// Declares a parameter on the meta device; order of declaration is order in files and optimizer.
  Parameter& add_parameter(std::string name, std::vector<int64_t> shape, at::ScalarType dtype,
                           InitRule init);
  Slot& add_child(std::string name, std::unique_ptr<Module> module);
  void set_attribute(const std::string& name, double value) { attributes_[name] = value; }

 private:
  void check_free(const std::string& name) const;

  std::string kind_;
  std::string fqn_;
  std::map<std::string, double> attributes_;
  std::vector<OwnParameter> parameters_;
  std::vector<OwnBuffer> buffers_;
  std::vector<std::unique_ptr<Slot>> children_;
  std::unique_ptr<Replacement> replacement_;
  std::vector<std::unique_ptr<Wrap>> wraps_;
  std::vector<std::unique_ptr<Observer>> observers_;
  Recompute recompute_ = Recompute::kNothing;
};

/// Calls `visit` for `root` and every module below it, parents first, in registration order.
void visit_modules(Module& root, const std::function<void(Module&)>& visit);

struct NamedParameter {
  std::string fqn;  ///< "layers.0.attention.wq.weight"; for an added one its stored_as
  std::shared_ptr<Parameter> parameter;
  Module* module;
};
/// Every parameter once (tied ones under their first name), in registration order.
std::vector<NamedParameter> named_parameters(Module& root);

struct NamedBuffer {
  std::string fqn;
  std::shared_ptr<Buffer> buffer;
  Module* module;
};
std::vector<NamedBuffer> named_buffers(Module& root);

/// Gives every parameter and buffer storage on `device` and fills it by its init rule, drawn in
/// float32 from a generator keyed by (seed, init key) and then cast (see init.h). Handles stay the
/// same. Call it before hooks are put on parameters and with no graph of a meta run alive.
void materialize(Module& root, at::Device device, uint64_t seed);

}  // namespace titan::model
