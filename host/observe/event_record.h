/// The bytes of TensorBoard's event files: protocol buffers in the framing of TFRecord.
///
/// Sources: event.proto, summary.proto and tensor.proto of TensorFlow (tensorboard/compat/proto),
/// and the record format of tensorflow/core/lib/io/record_writer.h. Only the fields used here are
/// written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace titan::observe {

/// The serialized Event a file begins with: its version, "brain.Event:2".
std::string version_event(double unix_time);

/// The serialized Event that says a run begins or goes on with `step`. Readers then drop what files
/// before this one hold of that step and later ones.
std::string session_start_event(double unix_time, int64_t step);

/// One serialized Event of a step with any number of values.
class SummaryEvent {
 public:
  SummaryEvent(double unix_time, int64_t step) : unix_time_(unix_time), step_(step) {}
  /// Held as float32, as TensorBoard's scalars are.
  void add_scalar(std::string_view tag, double value);
  /// A string tensor of shape [1] for the text plugin, which shows it as Markdown.
  void add_text(std::string_view tag, std::string_view text);
  std::string bytes() const;

 private:
  double unix_time_;
  int64_t step_;
  std::string summary_;
};

/// One record: length (uint64, little endian), masked CRC-32C of these 8 bytes, `data`, masked
/// CRC-32C of `data`. Masked: rotated right by 15 bits, plus 0xa282ead8.
std::string framed(std::string_view data);

}  // namespace titan::observe
