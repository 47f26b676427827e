#include "plugins/current_call.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace titan::plugins {
namespace {

/// Read by signal handlers: plain pointers, no constructors.
thread_local const CurrentCall* innermost_call = nullptr;

struct LoadedName {
  const char* plugin;
  const char* path;
};
std::array<LoadedName, 64> loaded_plugins{};
std::atomic<size_t> loaded_count{0};

/// write(2) alone: anything else may be broken by the time a handler runs.
void put(const char* text) {
  const size_t length = std::strlen(text);
  for (size_t done = 0; done < length;) {
    const ssize_t wrote = write(STDERR_FILENO, text + done, length - done);
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

constexpr std::array<int, 5> kFatalSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

const char* signal_text(int number) {
  switch (number) {
    case SIGSEGV: return "a crash (SIGSEGV: invalid memory)";
    case SIGBUS: return "a crash (SIGBUS: invalid memory)";
    case SIGFPE: return "a crash (SIGFPE: arithmetic)";
    case SIGILL: return "a crash (SIGILL: invalid instruction)";
    default: return "a call of abort()";
  }
}

std::terminate_handler previous_terminate = nullptr;

}  // namespace

void remember_loaded(const char* plugin, const char* path) {
  const size_t at = loaded_count.load();
  if (at == loaded_plugins.size()) return;
  // Never freed: a handler may read them at any time.
  loaded_plugins[at] = {strdup(plugin), strdup(path)};
  loaded_count.store(at + 1);
}

CurrentCall::CurrentCall(const char* plugin, const char* path, const char* doing,
                         const char* module)
    : plugin_(plugin), path_(path), doing_(doing), module_(module), outer_(innermost_call) {
  innermost_call = this;
}
CurrentCall::~CurrentCall() { innermost_call = outer_; }

/// No plugin was called on this thread: it may be one that a plugin has started.
void write_loaded(const char* event) {
  const size_t count = loaded_count.load();
  if (count == 0) return;
  put("error: ");
  put(event);
  put(" on a thread in which no plugin was called; a plugin's own thread may have done it. In this "
      "process:");
  for (size_t i = 0; i < count; ++i) {
    put(" '");
    put(loaded_plugins[i].plugin);
    put("' (");
    put(loaded_plugins[i].path);
    put(")");
  }
  put("\n");
}

void write_current_call(const char* event) {
  const CurrentCall* call = innermost_call;
  if (!call) return write_loaded(event);
  put("error: ");
  put(event);
  put(" inside plugin '");
  put(call->plugin_);
  put("', ");
  put(call->doing_);
  if (*call->module_) {
    put(" of module '");
    put(call->module_);
    put("'");
  }
  put("\n  at: ");
  put(call->path_);
  put("\n  fix: leave the plugin out, update it, or report this to its author\n");
}

namespace {

void on_fatal_signal(int number) {
  write_current_call(signal_text(number));
  // The default action was put back by SA_RESETHAND: the signal now ends the process as ever.
  raise(number);
}

void on_exit() {
  if (!innermost_call) return;
  write_current_call("a call of exit()");
  _exit(6);
}

[[noreturn]] void on_terminate() {
  write_current_call("std::terminate (an exception that nothing could catch)");
  innermost_call = nullptr;  // abort() below needs no second line
  if (previous_terminate) previous_terminate();
  std::abort();
}

}  // namespace

void name_plugins_in_crashes() {
  struct sigaction action = {};
  action.sa_handler = on_fatal_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int number : kFatalSignals) sigaction(number, &action, nullptr);
  previous_terminate = std::set_terminate(on_terminate);
  std::atexit(on_exit);
}

}  // namespace titan::plugins
