#include "train/signals.h"

#include <unistd.h>

#include <atomic>

namespace titan::train {
namespace {

std::atomic<int> received_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "handlers may use lock-free atomics only");

void on_signal(int number) {
  int none = 0;
  if (!received_signal.compare_exchange_strong(none, number)) _exit(128 + number);
}

void handle(int number, struct sigaction* before) {
  sigaction(number, nullptr, before);
  if (before->sa_handler == SIG_IGN) return;  // as shells start what runs in the background
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // a write in progress goes on
  sigaction(number, &action, nullptr);
}

}  // namespace

SignalGuard::SignalGuard() {
  received_signal = 0;
  handle(SIGINT, &interrupt_before_);
  handle(SIGTERM, &terminate_before_);
  handle(SIGHUP, &hang_up_before_);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGTERM, &terminate_before_, nullptr);
  sigaction(SIGHUP, &hang_up_before_, nullptr);
}

int SignalGuard::received() const { return received_signal; }

void ignore_file_size_signal() { signal(SIGXFSZ, SIG_IGN); }

}  // namespace titan::train
