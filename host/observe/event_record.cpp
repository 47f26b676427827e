#include "observe/event_record.h"

#include <bit>

#include "base/crc32c.h"
#include "base/printable.h"

namespace titan::observe {
namespace {

/// Wire types of protocol buffers: the low three bits of a field's key.
enum class Wire : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

template <class Unsigned>
void put_fixed(std::string& out, Unsigned value) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, uint32_t field, Wire wire) {
  put_varint(out, (field << 3) | static_cast<uint32_t>(wire));
}

void put_integer(std::string& out, uint32_t field, int64_t value) {
  put_key(out, field, Wire::kVarint);
  put_varint(out, static_cast<uint64_t>(value));
}

void put_double(std::string& out, uint32_t field, double value) {
  put_key(out, field, Wire::kFixed64);
  put_fixed(out, std::bit_cast<uint64_t>(value));
}

void put_float(std::string& out, uint32_t field, float value) {
  put_key(out, field, Wire::kFixed32);
  put_fixed(out, std::bit_cast<uint32_t>(value));
}

/// A string, or a message that is serialized already.
void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, Wire::kLengthDelimited);
  put_varint(out, bytes.size());
  out += bytes;
}

// Field numbers of event.proto, summary.proto and tensor.proto.
namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace session_log {
constexpr uint32_t kStatus = 1;
constexpr int64_t kStart = 1;
}  // namespace session_log
namespace summary {
constexpr uint32_t kValue = 1;
}
namespace value {
constexpr uint32_t kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
}
namespace metadata {
constexpr uint32_t kPluginData = 1, kPluginName = 1;
}
namespace tensor {
constexpr uint32_t kDtype = 1, kShape = 2, kStringVal = 8;
constexpr uint32_t kDim = 2, kDimSize = 1;
constexpr int64_t kString = 7;  // DT_STRING
}  // namespace tensor

std::string event_of(double unix_time, int64_t step) {
  std::string bytes;
  put_double(bytes, event::kWallTime, unix_time);
  if (step != 0) put_integer(bytes, event::kStep, step);
  return bytes;
}

void put_masked_crc(std::string& out, std::string_view bytes) {
  put_fixed(out, std::rotr(crc32c(0, bytes), 15) + 0xa282ead8u);
}

}  // namespace

std::string version_event(double unix_time) {
  std::string bytes = event_of(unix_time, 0);
  put_bytes(bytes, event::kFileVersion, "brain.Event:2");
  return bytes;
}

std::string session_start_event(double unix_time, int64_t step) {
  std::string log;
  put_integer(log, session_log::kStatus, session_log::kStart);
  std::string bytes = event_of(unix_time, step);
  put_bytes(bytes, event::kSessionLog, log);
  return bytes;
}

void SummaryEvent::add_scalar(std::string_view tag, double value) {
  std::string bytes;
  put_bytes(bytes, value::kTag, with_valid_utf8(tag));
  put_float(bytes, value::kSimpleValue, static_cast<float>(value));
  put_bytes(summary_, summary::kValue, bytes);
}

void SummaryEvent::add_text(std::string_view tag, std::string_view text) {
  std::string dim, shape, tensor, plugin, metadata, bytes;
  put_integer(dim, tensor::kDimSize, 1);
  put_bytes(shape, tensor::kDim, dim);
  put_integer(tensor, tensor::kDtype, tensor::kString);
  put_bytes(tensor, tensor::kShape, shape);
  put_bytes(tensor, tensor::kStringVal, with_valid_utf8(text));
  put_bytes(plugin, metadata::kPluginName, "text");
  put_bytes(metadata, metadata::kPluginData, plugin);
  put_bytes(bytes, value::kTag, with_valid_utf8(tag));
  put_bytes(bytes, value::kTensor, tensor);
  put_bytes(bytes, value::kMetadata, metadata);
  put_bytes(summary_, summary::kValue, bytes);
}

std::string SummaryEvent::bytes() const {
  std::string bytes = event_of(unix_time_, step_);
  put_bytes(bytes, event::kSummary, summary_);
  return bytes;
}

std::string framed(std::string_view data) {
  std::string out;
  put_fixed(out, uint64_t{data.size()});
  put_masked_crc(out, std::string(out));
  out += data;
  put_masked_crc(out, data);
  return out;
}

}  // namespace titan::observe
