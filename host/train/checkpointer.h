/// When checkpoints are saved, and on which thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/folder_lock.h"
#include "checkpoint/save_checkpoint.h"
#include "checkpoint/step_folder.h"
#include "config/config.h"

namespace titan::train {

/// Owns the folder of a run's checkpoints. If checkpoints are not enabled it does nothing.
///
/// With async_mode "async" a save copies the tensors to memory of its own and returns; a thread
/// writes them. One save at a time: the next one waits. A failure is thrown by the next call.
class Checkpointer {
 public:
  using TakeSnapshot = std::function<checkpoint::Snapshot(bool model_only)>;

  /// Takes the folder for this process and removes what a crashed one left there.
  explicit Checkpointer(const config::Config& config);
  /// Waits for a save in progress; a failure that nobody asked for is logged.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  bool enabled() const { return options_.enable; }
  const std::filesystem::path& folder() const { return folder_; }
  /// The checkpoint to resume from (checkpoint.load_step); nothing: there is none.
  std::optional<checkpoint::StepFolder> find_resume() const;

  /// Call it once the run is ready to go on after `step`. Later steps in the folder are of another
  /// branch: that is logged, and with the first save they are set aside.
  void begin_after(int64_t step);

  /// Whether a checkpoint is saved after this step.
  bool due(int64_t step) const;
  /// Call it after every step: saves if it is due.
  void after_step(int64_t step, const TakeSnapshot& take);
  /// Saves all of the run now unless this step is saved already, and waits until it is on disk.
  void save_now(int64_t step, const TakeSnapshot& take);
  /// Waits for a save in progress and throws its failure.
  void finish();

 private:
  void save(int64_t step, checkpoint::Snapshot snapshot);
  /// Returns a line for the log.
  std::string write(const checkpoint::Snapshot& snapshot) const;

  config::Checkpoint options_;
  int64_t last_step_;
  std::filesystem::path folder_;
  std::optional<checkpoint::FolderLock> lock_;
  std::optional<int64_t> first_step_;  ///< until the first save: where this run began
  int64_t saved_step_ = -1;      ///< of the newest save of this process that is no model-only one
  checkpoint::Snapshot staged_;  ///< async: what the thread writes; its memory is used again
  /// The log line of the save in progress; the last member: it ends before what it reads.
  std::future<std::string> writing_;
};

}  // namespace titan::train
