/// Fills the parameters of a model from safetensors files.
#pragma once

#include <ATen/core/TensorBody.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan::model {
class Module;
}

namespace titan::checkpoint {

/// How the names and layouts of Hugging Face files map to those of the model.
struct HfNameMap {
  /// "model.layers.0.self_attn.q_proj.weight" to "layers.0.attention.wq.weight"; nothing if
  /// unknown.
  std::function<std::optional<std::string>(const std::string& hf_name)> native_name;
  /// The tensor in the layout of the model. It is also called with tensors on the meta device, to
  /// learn the shape before anything is read.
  std::function<at::Tensor(const std::string& native_name, const at::Tensor& tensor)> to_native;
  /// Optional: whether a tensor of the file holds nothing that the model needs.
  std::function<bool(const std::string& hf_name)> ignored = {};
};

struct LoadReport {
  bool hugging_face = false;  ///< the file used Hugging Face names
  bool copied = false;        ///< false: the model has no memory, so nothing but the check was done
  /// State that converters added to the model and the files lack; it keeps its initial values.
  std::vector<std::string> missing_added;
  /// State of converters ("<instance>/...") in the files that this model has no use for.
  std::vector<std::string> unused_added;
};

/// Whether a stored name is of state that a converter added ("<instance>/<fqn>.<name>"): names of
/// stock parameters have no slash.
inline bool is_added_name(std::string_view name) {
  return name.find('/') != std::string_view::npos;
}

/// Whether values may be rounded to the type that the model has.
enum class TypeRule { kConvertFloats, kExact };

/// The live parameters and persistent buffers of `root` under the names that files give them.
std::map<std::string, at::Tensor> model_tensors(model::Module& root);

/// Copies every parameter and persistent buffer of `root` from a file or folder (see WeightFiles),
/// converting between floating-point types unless `types` forbids it. For a model on the meta
/// device that ends before the first value: the files are checked. Which names the files use is
/// found out from the files; `hf` may be null.
///
/// Names, shapes and types are all checked before the first value changes. Throws one data error
/// that lists everything that does not fit. Only state that a converter added may be missing.
LoadReport load_weights(model::Module& root, const std::filesystem::path& file_or_folder,
                        const HfNameMap* hf = nullptr, TypeRule types = TypeRule::kConvertFloats);

/// The same for nothing but what converters added (names with a slash): all of it must be there,
/// and whatever else the files hold is left alone.
LoadReport load_added(model::Module& root, const std::filesystem::path& file_or_folder);

}  // namespace titan::checkpoint
