#include "base/crc32c.h"

#include <array>
#include <cstring>

namespace titan {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82f63b78;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

/// Table k: the effect of a byte that has k bytes behind it.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? kReversedPolynomial : 0);
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < tables.size(); ++k)
    for (size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

constexpr Tables kTables = make_tables();

uint32_t one_byte(uint32_t state, char byte) {
  return (state >> 8) ^ kTables[0][(state ^ static_cast<unsigned char>(byte)) & 0xff];
}

uint32_t eight_bytes(uint32_t state, uint64_t word) {
  word ^= state;
  uint32_t result = 0;
  for (size_t i = 0; i < 8; ++i) result ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
  return result;
}

template <class Step>
uint32_t run_crc(uint32_t state, std::string_view bytes, Step step) {
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    state = step(state, word);
  }
  for (; i < bytes.size(); ++i) state = one_byte(state, bytes[i]);
  return state;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t run_in_hardware(uint32_t state, std::string_view bytes) {
  return run_crc(
      state, bytes, [](uint32_t so_far, uint64_t word) __attribute__((target("sse4.2"))) {
        return static_cast<uint32_t>(__builtin_ia32_crc32di(so_far, word));
      });
}
#endif

}  // namespace

uint32_t crc32c(uint32_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  // x86 has an instruction for this very polynomial.
  if (__builtin_cpu_supports("sse4.2")) return ~run_in_hardware(~crc, bytes);
#endif
  return ~run_crc(~crc, bytes, eight_bytes);
}

}  // namespace titan
