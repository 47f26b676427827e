#include "checkpoint/step_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <system_error>

#include "base/error.h"
#include "base/log.h"

namespace titan::checkpoint {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kStepPrefix = "step-";

/// Why the folder is not a complete checkpoint of `step`; empty if it is.
std::string find_problem(const fs::path& folder, int64_t step, bool* model_only,
                         bool* other_format) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return "it is no folder";
  if (!fs::exists(folder / kManifestFile, error))
    return std::string("it has no ") + kManifestFile +
           ": another program made it, or it is not whole";
  try {
    const Manifest manifest = read_manifest(folder);
    if (manifest.position.step != step)
      return "its " + std::string(kManifestFile) + " belongs to step " +
             std::to_string(manifest.position.step);
    for (const auto& [name, sum] : manifest.files) {
      const auto size = fs::file_size(folder / name, error);
      if (error) return name + " is missing";
      if (static_cast<int64_t>(size) != sum.bytes)
        return name + " has " + std::to_string(size) + " bytes, it was saved with " +
               std::to_string(sum.bytes);
    }
    *model_only = manifest.model_only;
    return {};
  } catch (const OtherFormatError& problem) {
    *other_format = true;
    return problem.what();
  } catch (const Error& problem) {
    return problem.what();
  }
}

/// "step-5, step-10 (incomplete: ...)".
std::string steps_text(const std::vector<StepFolder>& steps) {
  std::string text;
  for (const StepFolder& one : steps) {
    text += (text.empty() ? "" : ", ") + step_folder_name(one.step);
    if (!one.complete()) text += " (not complete: " + one.problem + ")";
    if (one.model_only) text += " (weights alone)";
  }
  return text.empty() ? "none" : text;
}

fs::path hidden_name(const fs::path& root, int64_t step, const char* what) {
  return root /
         (kHiddenPrefix + step_folder_name(step) + "." + what + "-" + std::to_string(getpid()));
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw cannot_write_file(to, error.value());
}

/// At every moment one of the two has the name. False if the file system cannot do it.
bool exchange_names(const fs::path& a, const fs::path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

/// A kill in the middle of a deletion must not leave half a checkpoint under its name.
void delete_step(const fs::path& root, const StepFolder& step) {
  const fs::path hidden = hidden_name(root, step.step, "deleted");
  std::error_code error;
  fs::rename(step.path, hidden, error);
  if (!error) fs::remove_all(hidden, error);
  if (error)
    log_warning("the old checkpoint " + step.path.string() +
                " cannot be deleted: " + error.message());
}

fs::path free_name(const fs::path& wanted) {
  std::error_code error;
  for (int i = 1;; ++i) {
    fs::path name = wanted.string() + ".kept-" + std::to_string(i);
    if (!fs::exists(fs::symlink_status(name, error))) return name;
  }
}

}  // namespace

std::string step_folder_name(int64_t step) {
  return std::string(kStepPrefix) + std::to_string(step);
}

std::optional<int64_t> parse_step_folder(std::string_view name) {
  if (name.substr(0, kStepPrefix.size()) != kStepPrefix) return std::nullopt;
  const std::string_view digits = name.substr(kStepPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  // One name a step: no sign, no zeros in front.
  if (error != std::errc() || step < 0 || step_folder_name(step) != name) return std::nullopt;
  return step;
}

std::vector<StepFolder> list_steps(const fs::path& root) {
  std::vector<StepFolder> steps;
  std::error_code error;
  if (!fs::exists(root, error)) return steps;
  fs::directory_iterator it(root, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const auto step = parse_step_folder(it->path().filename().string());
    if (!step) continue;
    StepFolder found{*step, it->path(), {}, false, false};
    found.problem = find_problem(found.path, *step, &found.model_only, &found.other_format);
    steps.push_back(std::move(found));
  }
  if (error)
    throw environment_error(
        "the checkpoints in '" + root.string() + "' cannot be listed: " + error.message(),
        root.string(), "checkpoint.folder must be a folder that this user can read");
  std::sort(steps.begin(), steps.end(),
            [](const StepFolder& a, const StepFolder& b) { return a.step < b.step; });
  return steps;
}

std::optional<StepFolder> choose_step(const fs::path& root, int64_t step) {
  const std::vector<StepFolder> steps = list_steps(root);
  if (step >= 0) {
    for (const StepFolder& one : steps) {
      if (one.step != step) continue;
      if (one.complete()) return one;
      throw data_error(
          "step-" + std::to_string(step) + " is not a complete checkpoint: " + one.problem,
          one.path.string(), "choose another one; there are: " + steps_text(steps));
    }
    throw data_error("there is no checkpoint of step " + std::to_string(step) +
                         "; there are: " + steps_text(steps),
                     root.string(),
                     "set checkpoint.load_step to one of them, or to -1 for the latest");
  }
  for (auto one = steps.rbegin(); one != steps.rend(); ++one) {
    if (one->complete()) return *one;
    if (one->other_format)
      throw data_error(one->path.string() + " cannot be read: " + one->problem, one->path.string(),
                       "resume with the titan that made it, name an earlier step "
                       "(checkpoint.load_step), or choose "
                       "another checkpoint.folder; there are: " +
                           steps_text(steps));
    log_warning("passed over " + one->path.string() +
                ", which is not a complete checkpoint: " + one->problem);
  }
  if (steps.empty()) return std::nullopt;
  throw data_error("no checkpoint is complete; there are: " + steps_text(steps), root.string(),
                   "move them away to start anew, or choose another checkpoint.folder");
}

void remove_leftovers(const fs::path& root) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().rfind(kHiddenPrefix, 0) == 0)
      leftovers.push_back(it->path());
  for (const fs::path& path : leftovers) {
    fs::remove_all(path, error);
    if (error)
      log_warning(path.string() + " is left over and cannot be deleted: " + error.message());
  }
}

void publish_step(const fs::path& root, int64_t step, const fs::path& temporary) {
  const fs::path target = root / step_folder_name(step);
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(target, error));
  bool model_only = false, other_format = false;
  const std::string problem = there ? find_problem(target, step, &model_only, &other_format) : "";
  if (!problem.empty()) {
    const fs::path kept = free_name(target);
    log_warning(target.string() + " is not a complete checkpoint (" + problem +
                "); it is kept as " + kept.string());
    rename_or_throw(target, kept);
  } else if (there && exchange_names(temporary, target)) {
    sync_folder(root);
    fs::remove_all(temporary, error);  // the old checkpoint by now
    return;
  } else if (there) {
    const fs::path replaced = hidden_name(root, step, "replaced");
    rename_or_throw(target, replaced);
    rename_or_throw(temporary, target);
    sync_folder(root);
    fs::remove_all(replaced, error);
    return;
  }
  rename_or_throw(temporary, target);
  sync_folder(root);
}

void set_aside_later(const fs::path& root, int64_t step) {
  for (const StepFolder& one : list_steps(root)) {
    if (one.step <= step) continue;
    const fs::path kept = free_name(one.path);
    log_warning(one.path.string() + " is of a run that went on from another point; it is kept as " +
                kept.string());
    rename_or_throw(one.path, kept);
  }
  sync_folder(root);
}

void prune_steps(const fs::path& root, int64_t keep, int64_t saved) {
  if (keep == 0) return;
  std::vector<StepFolder> steps = list_steps(root);
  std::erase_if(steps, [](const StepFolder& one) { return !one.complete(); });
  auto surplus = static_cast<int64_t>(steps.size()) - keep;
  for (const StepFolder& one : steps) {
    if (surplus <= 0) break;
    if (one.step == saved) continue;
    delete_step(root, one);
    --surplus;
  }
}

}  // namespace titan::checkpoint
