/// The folder of a run's checkpoints: which steps are there, which are complete, what is rubbish.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/manifest.h"

namespace titan::checkpoint {

/// "step-500".
std::string step_folder_name(int64_t step);
/// The number in such a name; nothing for any other name ("step-05", "step-5.old").
std::optional<int64_t> parse_step_folder(std::string_view name);

struct StepFolder {
  int64_t step = 0;
  std::filesystem::path path;
  std::string problem;  ///< why it is not a complete checkpoint; empty: it is
  bool model_only = false;
  bool other_format = false;  ///< `problem` is that another version of titan made it
  bool complete() const { return problem.empty(); }
};

/// Every step-N of `root`, by number. One is complete if its state can be read, belongs to that
/// number, and every file it lists is there with its size; contents are checked when they are
/// loaded. Empty if there is no such folder; an environment error if it cannot be listed.
std::vector<StepFolder> list_steps(const std::filesystem::path& root);

/// The checkpoint to resume from. `step`: -1 for the latest complete one, and nothing if there is
/// no step-N at all. A data error names the steps that are there if the wanted one is missing or
/// incomplete, of another format, or none is complete. Folders that are passed over are logged as
/// warnings.
std::optional<StepFolder> choose_step(const std::filesystem::path& root, int64_t step);

/// Temporary and deleted folders and files of crashed runs in `root`; only for the one process that
/// writes there. Their names begin with kHiddenPrefix.
void remove_leftovers(const std::filesystem::path& root);
inline constexpr const char* kHiddenPrefix = ".titan-";

/// Gives every step after `step` another name (step-8.kept-1), so that a run which goes on from
/// there is not mixed with the one that made them: the highest number is the latest again.
void set_aside_later(const std::filesystem::path& root, int64_t step);

/// Gives the complete folder `temporary` (in `root`) the name of its step. A checkpoint of that
/// step that is there is replaced; a folder of that name that is none is kept under another name.
void publish_step(const std::filesystem::path& root, int64_t step,
                  const std::filesystem::path& temporary);

/// Deletes the oldest complete checkpoints until `keep` are left (0: none is deleted). `saved`, the
/// newest one in time, is never deleted, nor is anything that is not a complete checkpoint.
void prune_steps(const std::filesystem::path& root, int64_t keep, int64_t saved);

}  // namespace titan::checkpoint
