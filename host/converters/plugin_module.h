/// A plugin's code for one module, bound to the module it runs in.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converters/record.h"
#include "titan/call.h"

namespace titan::converters {

/// Who to blame: named in every error.
struct PluginOrigin {
  std::string plugin;  ///< name in its note
  std::string path;
  std::string converter;
  std::string instance;
  std::string text() const;  ///< "plugin 'float8' (/x/float8.so), converter 'f8'"
};

/// One impl (or observer) with its `self`; destroy runs when the last user is gone.
class BoundImpl {
 public:
  /// The struct is copied: a plugin may build it on its stack.
  BoundImpl(PluginOrigin origin, const titan_module_impl* given, void* self)
      : origin(std::move(origin)), impl(*given), self(self) {}
  BoundImpl(PluginOrigin origin, const titan_observer* given, void* self)
      : origin(std::move(origin)), observer(*given), self(self) {}
  ~BoundImpl();
  BoundImpl(const BoundImpl&) = delete;
  BoundImpl& operator=(const BoundImpl&) = delete;

  /// Records which tensors the module's calls carry.
  void bind(model::Module& module, const std::string& instance, const Prediction* prediction);

  const PluginOrigin origin;
  const std::optional<titan_module_impl> impl;
  const std::optional<titan_observer> observer;
  void* const self = nullptr;

  std::optional<PredictedMemory> memory;  ///< what its converter says a call holds
  int64_t memory_tokens = 0;              ///< in the call that this is about

  std::string fqn;
  std::string kind;
  std::map<std::string, double> attributes;
  std::vector<std::pair<std::string, bool>> inputs;  ///< name, optional
  std::vector<std::pair<std::string, std::shared_ptr<model::Parameter>>> parameters;
  std::vector<std::pair<std::string, std::shared_ptr<model::Buffer>>> buffers;
};

/// Wraps a plugin's code as the pieces the module tree takes. `where`: TITAN_WRAP_...
std::unique_ptr<model::Replacement> make_plugin_replacement(PluginOrigin, const titan_module_impl*,
                                                            void* self);
std::unique_ptr<model::Wrap> make_plugin_wrap(PluginOrigin, int32_t where, const titan_module_impl*,
                                              void* self);
std::unique_ptr<model::Observer> make_plugin_observer(PluginOrigin, const titan_observer*,
                                                      void* self);

}  // namespace titan::converters
