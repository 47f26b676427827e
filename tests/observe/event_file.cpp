#include "observe/event_file.h"

#include <cstring>
#include <stdexcept>
#include <string_view>
#include <variant>

namespace titan::test {
namespace {

/// CRC-32C bit by bit, straight from its definition.
uint32_t slow_crc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

template <class Number>
Number number_at(std::string_view bytes) {
  Number number{};
  if (bytes.size() < sizeof number) throw std::runtime_error("a number is cut");
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

void check_crc(std::string_view bytes, uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  if (((rotated >> 17) | (rotated << 15)) != slow_crc32c(bytes))
    throw std::runtime_error("wrong checksum");
}

struct ProtoField {
  uint32_t number = 0;
  std::variant<uint64_t, double, float, std::string_view> value;
};

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) throw std::runtime_error("a varint is cut");
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a varint is too long");
}

std::vector<ProtoField> fields_of(std::string_view bytes) {
  std::vector<ProtoField> fields;
  while (!bytes.empty()) {
    const uint64_t key = take_varint(bytes);
    ProtoField field{static_cast<uint32_t>(key >> 3), {}};
    size_t used = 0;
    switch (key & 7) {
      case 0: field.value = take_varint(bytes); break;
      case 1:
        field.value = number_at<double>(bytes);
        used = 8;
        break;
      case 5:
        field.value = number_at<float>(bytes);
        used = 4;
        break;
      case 2:
        used = take_varint(bytes);
        if (used > bytes.size()) throw std::runtime_error("a field is cut");
        field.value = bytes.substr(0, used);
        break;
      default: throw std::runtime_error("unknown wire type");
    }
    bytes.remove_prefix(used);
    fields.push_back(field);
  }
  return fields;
}

std::string_view bytes_of(const ProtoField& field) {
  return std::get<std::string_view>(field.value);
}

std::string text_of_tensor(std::string_view bytes) {
  std::string text;
  int64_t dtype = 0, size = 0;
  for (const ProtoField& field : fields_of(bytes)) {
    if (field.number == 1) dtype = static_cast<int64_t>(std::get<uint64_t>(field.value));
    if (field.number == 2)
      for (const ProtoField& dim : fields_of(bytes_of(field)))
        size = static_cast<int64_t>(std::get<uint64_t>(fields_of(bytes_of(dim)).at(0).value));
    if (field.number == 8) text = bytes_of(field);
  }
  if (dtype != 7 || size != 1) throw std::runtime_error("no string tensor of one element");
  return text;
}

void read_value(std::string_view bytes, ReadEvent& event) {
  std::string tag, plugin;
  std::string_view tensor;
  for (const ProtoField& field : fields_of(bytes)) {
    if (field.number == 1) tag = bytes_of(field);
    if (field.number == 2) event.scalars[tag] = std::get<float>(field.value);
    if (field.number == 8) tensor = bytes_of(field);
    if (field.number == 9)
      plugin = bytes_of(fields_of(bytes_of(fields_of(bytes_of(field)).at(0))).at(0));
  }
  if (plugin == "text") event.texts[tag] = text_of_tensor(tensor);
}

ReadEvent read_event(std::string_view bytes) {
  ReadEvent event;
  for (const ProtoField& field : fields_of(bytes)) {
    if (field.number == 1) event.wall_time = std::get<double>(field.value);
    if (field.number == 2) event.step = static_cast<int64_t>(std::get<uint64_t>(field.value));
    if (field.number == 3) event.file_version = bytes_of(field);
    if (field.number == 5)
      for (const ProtoField& value : fields_of(bytes_of(field))) read_value(bytes_of(value), event);
    if (field.number == 7)
      event.session_status =
          static_cast<int64_t>(std::get<uint64_t>(fields_of(bytes_of(field)).at(0).value));
  }
  return event;
}

}  // namespace

std::vector<ReadEvent> read_events(const std::string& bytes) {
  std::vector<ReadEvent> events;
  std::string_view rest = bytes;
  while (rest.size() >= 16) {
    const auto size = number_at<uint64_t>(rest);
    check_crc(rest.substr(0, 8), number_at<uint32_t>(rest.substr(8)));
    if (rest.size() - 16 < size) break;
    check_crc(rest.substr(12, size), number_at<uint32_t>(rest.substr(12 + size)));
    events.push_back(read_event(rest.substr(12, size)));
    rest.remove_prefix(16 + size);
  }
  return events;
}

}  // namespace titan::test
