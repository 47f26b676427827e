#include "checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"

namespace titan::checkpoint {
namespace {

using Json = nlohmann::json;
static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

struct TypeFacts {
  TensorType type;
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<TypeFacts, 12> kTypes = {{{TensorType::kF64, "F64", 8},
                                               {TensorType::kF32, "F32", 4},
                                               {TensorType::kF16, "F16", 2},
                                               {TensorType::kBF16, "BF16", 2},
                                               {TensorType::kI64, "I64", 8},
                                               {TensorType::kI32, "I32", 4},
                                               {TensorType::kI16, "I16", 2},
                                               {TensorType::kI8, "I8", 1},
                                               {TensorType::kU8, "U8", 1},
                                               {TensorType::kBool, "BOOL", 1},
                                               {TensorType::kF8E4M3, "F8_E4M3", 1},
                                               {TensorType::kF8E5M2, "F8_E5M2", 1}}};

constexpr int64_t kLengthBytes = 8;
constexpr size_t kMaxDimensions = 64;

Error malformed(const std::string& file, const std::string& what) {
  return data_error(what, file,
                    "the file is damaged or no safetensors file: fetch or write it again");
}

/// One tensor as the JSON gives it, before it is checked.
struct RawEntry {
  std::string name;
  std::optional<std::string> type;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

/// Receives the JSON piece by piece. Why not a document object: that keeps the last of two equal
/// names in silence, and deep nesting would cost memory before it is refused.
class HeaderHandler : public nlohmann::json_sax<Json> {
 public:
  std::vector<RawEntry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string problem;  ///< why parsing stopped

  bool null() override { return fail("holds null"); }
  bool boolean(bool) override { return fail("holds a truth value"); }
  bool number_integer(number_integer_t value) override {
    return fail("holds the negative number " + std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return fail("holds " + shown_name(text) + " where a whole number of 64 bits is needed");
  }
  bool binary(binary_t&) override { return fail("holds binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!numbers_) return fail("holds a number where none belongs");
    if (numbers_->size() == kMaxDimensions)
      return fail("has more than " + std::to_string(kMaxDimensions) + " dimensions");
    numbers_->push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      metadata.emplace_back(key_, value);
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") return fail("holds a text where none belongs");
    if (entries.back().type) return fail("gives dtype twice");
    entries.back().type = value;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && key_ == "__metadata__") {
      if (std::exchange(metadata_seen_, true)) return fail("stands twice in the header");
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTop) {
      place_ = Place::kTensor;
      entries.push_back({key_, {}, {}, {}});
    } else {
      return fail("holds an object where none belongs");
    }
    return true;
  }

  bool end_object() override {
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool key(string_t& value) override {
    key_ = value;
    if (place_ == Place::kTensor && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
      return fail("has the unknown field '" + shown_name(key_) + "'");
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || numbers_ || key_ == "dtype")
      return fail("holds a list where none belongs");
    std::optional<std::vector<uint64_t>>& target =
        key_ == "shape" ? entries.back().shape : entries.back().offsets;
    if (target) return fail("gives " + key_ + " twice");
    numbers_ = &target.emplace();
    return true;
  }

  bool end_array() override {
    numbers_ = nullptr;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    problem = "the header is not valid JSON at its byte " + std::to_string(position);
    return false;
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kTensor };

  bool fail(const std::string& what) {
    problem = "the header ";
    if (place_ == Place::kTensor) problem = "the tensor '" + shown_name(entries.back().name) + "' ";
    if (place_ == Place::kMetadata) problem = "__metadata__ ";
    if (place_ == Place::kTop) problem = "the entry '" + shown_name(key_) + "' ";
    problem += what;
    return false;
  }

  Place place_ = Place::kOutside;
  std::string key_;
  bool metadata_seen_ = false;
  std::vector<uint64_t>* numbers_ = nullptr;  ///< the list being filled
};

TensorType parse_type(const RawEntry& raw, const std::string& file) {
  std::string known;
  for (const TypeFacts& facts : kTypes) {
    if (*raw.type == facts.name) return facts.type;
    known += (known.empty() ? "" : ", ") + std::string(facts.name);
  }
  throw data_error("the tensor '" + shown_name(raw.name) + "' has the type '" +
                       shown_name(*raw.type) + "', which titan cannot read",
                   file, "convert it to one of " + known);
}

/// The size in bytes that the shape asks for; nothing if it does not fit into 63 bits.
std::optional<int64_t> bytes_of_shape(const std::vector<int64_t>& shape, TensorType type) {
  int64_t bytes = type_bytes(type);
  for (const int64_t dimension : shape)
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) return std::nullopt;
  return bytes;
}

TensorEntry check_entry(const RawEntry& raw, int64_t data_begin, int64_t file_bytes,
                        const std::string& file) {
  const std::string tensor = "the tensor '" + shown_name(raw.name) + "'";
  if (!raw.type) throw malformed(file, tensor + " has no dtype");
  if (!raw.shape) throw malformed(file, tensor + " has no shape");
  if (!raw.offsets || raw.offsets->size() != 2)
    throw malformed(file, tensor + " needs data_offsets of two numbers");

  TensorEntry entry;
  entry.name = raw.name;
  entry.type = parse_type(raw, file);
  for (const uint64_t dimension : *raw.shape) {
    if (dimension > uint64_t{INT64_MAX})
      throw malformed(file, tensor + " has a dimension of " + std::to_string(dimension));
    entry.shape.push_back(static_cast<int64_t>(dimension));
  }
  const std::optional<int64_t> bytes = bytes_of_shape(entry.shape, entry.type);
  if (!bytes)
    throw malformed(file, tensor + " has the shape " + shape_text(entry.shape) +
                              ", more elements than 64 bits can count");

  const uint64_t begin = (*raw.offsets)[0], end = (*raw.offsets)[1];
  const uint64_t available = static_cast<uint64_t>(file_bytes - data_begin);
  const std::string range = "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
  if (begin > end) throw malformed(file, tensor + " has the reversed data_offsets " + range);
  if (end > available)
    throw data_error(tensor + " lies at bytes " + range + " of the data, which has only " +
                         std::to_string(available) + " bytes",
                     file, "the file was cut off: fetch or write it again");
  if (end - begin != static_cast<uint64_t>(*bytes))
    throw malformed(file, tensor + " has " + std::to_string(end - begin) + " bytes, its shape " +
                              shape_text(entry.shape) + " of " +
                              std::string(type_name(entry.type)) + " needs " +
                              std::to_string(*bytes));
  entry.begin = data_begin + static_cast<int64_t>(begin);
  entry.end = data_begin + static_cast<int64_t>(end);
  return entry;
}

/// The tensors must lie side by side and fill the data: whatever else is there, is not understood.
void check_cover(std::vector<TensorEntry> tensors, int64_t data_begin, int64_t file_bytes,
                 const std::string& file) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t end = data_begin;
  const TensorEntry* previous = nullptr;
  for (const TensorEntry& tensor : tensors) {
    if (tensor.begin < end)
      throw malformed(file, "the tensors '" + shown_name(previous->name) + "' and '" +
                                shown_name(tensor.name) + "' overlap");
    if (tensor.begin > end)
      throw malformed(file, std::to_string(tensor.begin - end) + " bytes before the tensor '" +
                                shown_name(tensor.name) + "' belong to no tensor");
    end = tensor.end;
    previous = &tensor;
  }
  if (end != file_bytes)
    throw malformed(file, std::to_string(file_bytes - end) +
                              " bytes at the end of the file belong to no tensor");
}

}  // namespace

std::string_view type_name(TensorType type) {
  for (const TypeFacts& facts : kTypes)
    if (facts.type == type) return facts.name;
  return "?";
}

int64_t type_bytes(TensorType type) {
  for (const TypeFacts& facts : kTypes)
    if (facts.type == type) return facts.bytes;
  return 0;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t dimension : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
  return text + "]";
}

std::string shown_name(std::string_view name) {
  constexpr size_t kShown = 120;
  std::string text(name);
  if (text.size() > kShown)
    text = text.substr(0, kShown / 2) + "..." + text.substr(text.size() - kShown / 2);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

SafetensorsHeader parse_safetensors_header(std::string_view bytes, const std::string& file) {
  const int64_t file_bytes = static_cast<int64_t>(bytes.size());
  if (file_bytes < kLengthBytes)
    throw malformed(file, "the file has " + std::to_string(file_bytes) +
                              " bytes, a safetensors file begins with 8 bytes of length");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > static_cast<uint64_t>(kMaxHeaderBytes))
    throw malformed(file, "the file claims a header of " + std::to_string(length) +
                              " bytes, at most " + std::to_string(kMaxHeaderBytes) +
                              " are accepted");
  if (length > static_cast<uint64_t>(file_bytes - kLengthBytes))
    throw malformed(file, "the file claims a header of " + std::to_string(length) +
                              " bytes, but only " + std::to_string(file_bytes - kLengthBytes) +
                              " follow");
  const std::string_view json = bytes.substr(kLengthBytes, length);
  if (json.empty() || json.front() != '{') throw malformed(file, "the header is no JSON object");
  // The JSON parser takes a zero byte for the end of the text and would not see what follows.
  if (json.find('\0') != std::string_view::npos)
    throw malformed(file, "the header holds a zero byte");

  HeaderHandler handler;
  if (!Json::sax_parse(json.begin(), json.end(), &handler)) throw malformed(file, handler.problem);

  SafetensorsHeader header;
  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(length);
  for (const RawEntry& raw : handler.entries)
    header.tensors.push_back(check_entry(raw, data_begin, file_bytes, file));
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
  for (size_t i = 1; i < header.tensors.size(); ++i)
    if (header.tensors[i].name == header.tensors[i - 1].name)
      throw malformed(file, "the tensor '" + shown_name(header.tensors[i].name) +
                                "' stands twice in the header");
  for (const auto& [key, value] : handler.metadata)
    if (!header.metadata.emplace(key, value).second)
      throw malformed(file, "__metadata__ gives '" + shown_name(key) + "' twice");
  check_cover(header.tensors, data_begin, file_bytes, file);
  return header;
}

std::string format_safetensors_header(std::vector<TensorEntry>& tensors,
                                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  int64_t offset = 0;
  for (TensorEntry& tensor : tensors) {
    tensor.begin = offset;
    offset += bytes_of_shape(tensor.shape, tensor.type).value();
    tensor.end = offset;
    json[tensor.name] = {{"dtype", type_name(tensor.type)},
                         {"shape", tensor.shape},
                         {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = json.dump();
  // Spaces up to a multiple of 8: data that is sorted by width is then aligned in a mapped file.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  for (TensorEntry& tensor : tensors) {
    tensor.begin += kLengthBytes + static_cast<int64_t>(length);
    tensor.end += kLengthBytes + static_cast<int64_t>(length);
  }
  return bytes + text;
}

}  // namespace titan::checkpoint
