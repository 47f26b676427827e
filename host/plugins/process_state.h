/// State of the whole process that plugin code must leave as it found it (rule T-28).
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

namespace titan::plugins {

/// Rounding and flush-to-zero modes of the calling thread: they decide what every number becomes.
class FloatModes {
 public:
  static FloatModes current();
  bool operator==(const FloatModes&) const = default;
  void restore() const;
  /// What differs between this and `now`: "the rounding mode", "flush-to-zero".
  std::string difference(const FloatModes& now) const;

 private:
  uint32_t sse_ = 0;  ///< control bits of MXCSR
  uint16_t x87_ = 0;  ///< control word
  int rounding_ = 0;  ///< of <cfenv>, for machines without the two above
};

/// The process's umask, read without changing it for a moment (on Linux 4.7 or later). Any thread.
mode_t file_mode_mask();

/// What a signal does, which are held back, the mask of new files' modes, and standard input and
/// outputs.
class SignalsAndFiles {
 public:
  SignalsAndFiles();
  /// Puts back what can be and returns what differed: "the handling of signal 15", "standard
  /// output".
  std::string restore() const;

 private:
  struct sigaction actions_[64];
  sigset_t blocked_;
  mode_t umask_;
  struct Place {
    bool open;
    dev_t device;
    ino_t inode;
  };
  static Place place_of(int descriptor);
  Place standard_[3];
};

/// FloatModes, locale, working directory and SignalsAndFiles; too slow for every call of a module.
class ProcessState {
 public:
  ProcessState();
  /// Puts back what differs and returns what it was, empty if nothing.
  std::string restore() const;

 private:
  FloatModes float_modes_;
  std::string locale_;
  std::string folder_;  ///< empty: it cannot be told
  SignalsAndFiles signals_and_files_;
};

}  // namespace titan::plugins
