#include "checkpoint/save_checkpoint.h"

#include <unistd.h>

#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/step_folder.h"
#include "checkpoint/temporary_folder.h"

namespace titan::checkpoint {
namespace fs = std::filesystem;

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
