#include "train/random_state.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"

namespace titan::train {
namespace {

std::vector<std::pair<std::string, at::Generator>> generators_of(at::Device device) {
  std::vector<std::pair<std::string, at::Generator>> generators;
  generators.emplace_back("cpu", at::globalContext().defaultGenerator(at::kCPU));
  if (device.is_cuda())
    generators.emplace_back("cuda", at::globalContext().defaultGenerator(device));
  return generators;
}

std::string to_hex(const at::Tensor& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  const auto* values = bytes.const_data_ptr<uint8_t>();
  for (int64_t i = 0; i < bytes.numel(); ++i) {
    text += kDigits[values[i] >> 4];
    text += kDigits[values[i] & 15];
  }
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Undefined if the text is not made of pairs of digits.
at::Tensor from_hex(const std::string& text) {
  if (text.size() % 2 != 0) return {};
  at::Tensor bytes = at::empty({static_cast<int64_t>(text.size() / 2)}, at::kByte);
  auto* values = bytes.mutable_data_ptr<uint8_t>();
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return {};
    values[i / 2] = static_cast<uint8_t>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

void seed_generators(at::Device device, int64_t seed) {
  for (auto& [name, generator] : generators_of(device)) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_current_seed(static_cast<uint64_t>(seed));
  }
}

std::map<std::string, std::string> generator_states(at::Device device) {
  std::map<std::string, std::string> states;
  for (auto& [name, generator] : generators_of(device)) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    states[name] = to_hex(generator.get_state());
  }
  return states;
}

void restore_generators(at::Device device, const std::map<std::string, std::string>& states,
                        const std::string& where) {
  const std::string hint =
      "let it begin anew with checkpoint.exclude_from_loading: [train_state], or resume from "
      "another step";
  for (auto& [name, generator] : generators_of(device)) {
    const auto found = states.find(name);
    if (found == states.end())
      throw data_error("the checkpoint has no state of the random number generator '" + name + "'",
                       where, hint);
    const at::Tensor state = from_hex(found->second);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    try {
      TORCH_CHECK(state.defined());
      generator.set_state(state);
    } catch (const c10::Error&) {
      throw data_error("the state of the random number generator '" + name + "' is damaged", where,
                       hint);
    }
  }
}

}  // namespace titan::train
