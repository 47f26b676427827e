#include "data/input_file.h"

#include <zstd.h>

#include <algorithm>
#include <new>

#include "base/error.h"

namespace titan::data {

namespace {
constexpr size_t kInputBytes = size_t{1} << 17;
constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

struct ForeignFormat {
  std::string_view magic;  ///< first bytes of the content
  const char* name;
  const char* hint;
};
using namespace std::string_view_literals;
/// The magic numbers of file(1); bzip2's with the one of its first block, since a text may begin
/// with BZh, Parquet's with the first field of its first page.
constexpr ForeignFormat kForeignFormats[] = {
    {"\x1F\x8B"sv, "gzip data", "convert it: gzip -dc FILE.gz | zstd > FILE.zst"},
    {"\xFD\x37zXZ\0"sv, "xz data", "convert it: xz -dc FILE.xz | zstd > FILE.zst"},
    {"PK\x03\x04"sv, "a zip archive", "unpack it with unzip and name the files"},
    {"PK\x05\x06"sv, "a zip archive", "unpack it with unzip and name the files"},
    {"PAR1\x15"sv, "a Parquet file",
     "convert it to JSON lines, for example with pyarrow or DuckDB"},
    {"\x28\xB5\x2F\xFD"sv, "Zstandard data", "rename it so that it ends in .zst"},
    {"\xFF\xFE"sv, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"},
    {"\xFE\xFF"sv, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"}};

const ForeignFormat* foreign_format(std::string_view begin) {
  static constexpr ForeignFormat kBzip2 = {"BZh"sv, "bzip2 data",
                                           "convert it: bzip2 -dc FILE.bz2 | zstd > FILE.zst"};
  for (const ForeignFormat& format : kForeignFormats)
    if (begin.starts_with(format.magic)) return &format;
  const bool bzip2 = begin.starts_with(kBzip2.magic) && begin.size() >= 10 &&
                     begin.substr(4, 6) == "\x31\x41\x59\x26\x53\x59"sv;
  return bzip2 ? &kBzip2 : nullptr;
}
}  // namespace

void InputFile::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

bool InputFile::is_compressed_name(const std::filesystem::path& path) {
  return path.extension() == ".zst" || path.extension() == ".zstd";
}

InputFile::InputFile(const std::filesystem::path& path, std::string_view role,
                     std::string_view hint)
    : file_(RegularFile::open(path, role, hint)) {
  if (is_compressed_name(path)) {
    decompressor_.reset(ZSTD_createDCtx());
    if (!decompressor_) throw std::bad_alloc();
    input_.resize(kInputBytes);
  }
  std::string begin(16, '\0');
  begin.resize(static_cast<size_t>(read(0, begin.data(), static_cast<int64_t>(begin.size()))));
  if (const ForeignFormat* format = foreign_format(begin))
    throw data_error("the " + std::string(role) + " '" + path.string() + "' holds " + format->name +
                         ", text in UTF-8 is needed",
                     path.string(), format->hint);
  mark_bytes_ = begin.starts_with(kUtf8Mark) ? static_cast<int64_t>(kUtf8Mark.size()) : 0;
  file_at_ = decompressor_ ? file_at_ : 0;
}

int64_t InputFile::read(int64_t offset, char* to, int64_t size) {
  if (!decompressor_) {
    const int64_t count = std::clamp<int64_t>(file_.size() - offset, 0, size);
    file_.read(offset, to, count);
    file_at_ = offset + count;
    return count;
  }
  if (offset < content_at_) restart();
  std::vector<char> skipped(content_at_ < offset ? kInputBytes : 0);
  while (content_at_ < offset) {
    const int64_t wanted =
        std::min<int64_t>(offset - content_at_, static_cast<int64_t>(skipped.size()));
    if (decompress(skipped.data(), wanted) < wanted) return 0;
  }
  return decompress(to, size);
}

void InputFile::restart() {
  ZSTD_DCtx_reset(decompressor_.get(), ZSTD_reset_session_only);
  input_at_ = input_end_ = 0;
  file_at_ = content_at_ = 0;
  frame_open_ = false;
}

int64_t InputFile::decompress(char* to, int64_t size) {
  ZSTD_outBuffer out{to, static_cast<size_t>(size), 0};
  while (out.pos < out.size) {
    if (input_at_ == input_end_) {
      const int64_t count =
          std::min<int64_t>(file_.size() - file_at_, static_cast<int64_t>(input_.size()));
      file_.read(file_at_, input_.data(), count);
      file_at_ += count;
      input_at_ = 0;
      input_end_ = static_cast<size_t>(count);
    }
    ZSTD_inBuffer in{input_.data(), input_end_, input_at_};
    const size_t out_before = out.pos;
    if (in.pos == in.size && !frame_open_) break;
    const size_t left = ZSTD_decompressStream(decompressor_.get(), &out, &in);
    if (ZSTD_isError(left)) damaged(ZSTD_getErrorName(left));
    const bool stuck = in.pos == input_at_ && out.pos == out_before;
    input_at_ = in.pos;
    frame_open_ = left != 0;
    if (stuck && file_at_ == file_.size()) damaged("it ends in the middle of a frame");
  }
  content_at_ += static_cast<int64_t>(out.pos);
  return static_cast<int64_t>(out.pos);
}

void InputFile::damaged(const std::string& what) const {
  throw data_error(
      "the file '" + path().string() + "' cannot be decompressed near byte " +
          std::to_string(file_at_) + ": " + what,
      path().string(),
      "check it with `zstd --test`; copy it again, or rename it if it is not compressed");
}

}  // namespace titan::data
