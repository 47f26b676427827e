#include "reference.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace titan::device_check {
namespace {

constexpr const char* kRestore =
    "put the file of the repository back (git checkout), or correct TITAN_GOLDEN_DIR";

std::string path_of(const std::string& relative) {
  const char* folder = std::getenv("TITAN_GOLDEN_DIR");
  return (folder && *folder ? std::string(folder) : std::string(TITAN_SOURCE_DIR "/tests/golden")) +
         "/" + relative;
}

}  // namespace

std::string reference_text(const std::string& relative) {
  const std::string path = path_of(relative);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw data_error("a reference file cannot be opened", path, kRestore);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json reference_json(const std::string& relative) {
  return Json::parse(reference_text(relative), path_of(relative));
}

ReferenceFile::ReferenceFile(const std::string& relative) : path_(path_of(relative)) {
  const std::string file = reference_text(relative);
  uint64_t header_size = 0;
  if (file.size() >= sizeof header_size) std::memcpy(&header_size, file.data(), sizeof header_size);
  if (file.size() < sizeof header_size || header_size > file.size() - sizeof header_size)
    throw data_error("it is no whole safetensors file", path_, kRestore);
  const Json header = Json::parse(file.substr(sizeof header_size, header_size), path_);
  const size_t first = sizeof header_size + header_size, size = file.size() - first;
  for (const auto& [name, entry] : header.members()) {
    if (name == "__metadata__") continue;
    test::GoldenTensor tensor;
    tensor.dtype = entry.at("dtype").text();
    for (const double length : entry.at("shape").numbers())
      tensor.shape.push_back(static_cast<int64_t>(length));
    const auto offsets = entry.at("data_offsets").numbers();
    const auto needed = static_cast<double>(tensor.numel() * test::element_size(tensor.dtype));
    if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] > static_cast<double>(size) ||
        offsets[1] - offsets[0] != needed)
      throw data_error("the offsets of '" + name + "' do not fit its shape", path_, kRestore);
    const char* data = file.data() + first;
    tensor.bytes.assign(data + static_cast<size_t>(offsets[0]),
                        data + static_cast<size_t>(offsets[1]));
    tensors_.emplace(name, std::move(tensor));
  }
}

const test::GoldenTensor& ReferenceFile::operator[](const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw data_error("there is no tensor '" + name + "'", path_, kRestore);
  return found->second;
}

}  // namespace titan::device_check
