/// Which plugin's code runs on this thread right now, so that a crash in it can be named.
#pragma once

namespace titan::plugins {

/// Names a call for as long as it lives; calls may nest. The texts must outlive it and are not
/// copied.
class CurrentCall {
 public:
  /// `doing`: "forward"; `module`: name of the module, may be empty.
  CurrentCall(const char* plugin, const char* path, const char* doing, const char* module);
  ~CurrentCall();
  CurrentCall(const CurrentCall&) = delete;
  CurrentCall& operator=(const CurrentCall&) = delete;

 private:
  friend void write_current_call(const char* event);
  const char* plugin_;
  const char* path_;
  const char* doing_;
  const char* module_;
  const CurrentCall* outer_;
};

/// A plugin that stays in this process; a crash on a thread that titan calls no plugin on may be of
/// its own thread, so all of these are named then. Copies both texts. [main-thread]
void remember_loaded(const char* plugin, const char* path);

/// From here on a fatal signal, std::terminate and exit() inside plugin code write one line to
/// stderr that names the plugin, its file, the function and the module. A signal then takes its
/// usual course (core file, status 128 + number); exit() ends with status 6 whatever was asked for.
void name_plugins_in_crashes();

}  // namespace titan::plugins
