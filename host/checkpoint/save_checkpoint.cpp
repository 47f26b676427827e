#include "checkpoint/save_checkpoint.h"

#include <unistd.h>

#include <system_error>

#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/step_folder.h"

namespace titan::checkpoint {
namespace fs = std::filesystem;

namespace {

/// A folder that is removed again unless it got another name.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    fs::remove_all(path_, error);
    fs::create_directories(path_, error);
    if (error) throw cannot_write_file(path_, error.value());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void write_text(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), static_cast<int64_t>(text.size()));
  file.commit();
}

}  // namespace

void save_checkpoint(const fs::path& root, Snapshot snapshot) {
  Manifest& manifest = snapshot.manifest;
  const std::string name = step_folder_name(manifest.position.step);
  const TemporaryFolder folder(root /
                               (kHiddenPrefix + name + ".saving-" + std::to_string(getpid())));
  manifest.files.clear();
  manifest.files[kModelFile] = write_safetensors(folder.path() / kModelFile, snapshot.model);
  if (!manifest.model_only)
    manifest.files[kOptimizerFile] =
        write_safetensors(folder.path() / kOptimizerFile, snapshot.optimizer);
  // Last: a folder without it is not complete.
  write_text(folder.path() / kManifestFile, format_manifest(manifest));
  publish_step(root, manifest.position.step, folder.path());
}

}  // namespace titan::checkpoint
