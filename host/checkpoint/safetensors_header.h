/// The header of a safetensors file, read without trusting it. Knows nothing of torch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace titan::checkpoint {

/// Type names as they stand in files; E4M3 is the finite one of OCP ("e4m3fn").
enum class TensorType {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2
};

std::string_view type_name(TensorType type);  ///< "F32", "BF16", "F8_E4M3", ...
int64_t type_bytes(TensorType type);          ///< of one element

struct TensorEntry {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;  ///< empty for a scalar
  int64_t begin = 0;           ///< first byte, counted from the beginning of the file
  int64_t end = 0;             ///< behind its last byte
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  ///< sorted by name
  std::map<std::string, std::string> metadata;
};

inline constexpr int64_t kMaxHeaderBytes = int64_t{100} << 20;

/// Reads the header of the file whose whole content is `bytes`. Checked: length field, JSON,
/// names given twice, types, shapes, that sizes agree with shapes, and that the tensors cover the
/// data exactly, without overlap, gap or rest. Throws a data error that names `file`, the tensor,
/// what was found and what was expected.
SafetensorsHeader parse_safetensors_header(std::string_view bytes, const std::string& file);

/// The length field and header of a file with these tensors, whose begin and end are ignored on the
/// way in and set on the way out; data follows directly, in the order of `tensors`.
std::string format_safetensors_header(std::vector<TensorEntry>& tensors,
                                      const std::map<std::string, std::string>& metadata);

/// "[64, 256]".
std::string shape_text(const std::vector<int64_t>& shape);

/// A name from a file as it may be shown: control characters replaced, the middle of long ones left
/// out.
std::string shown_name(std::string_view name);

}  // namespace titan::checkpoint
