/// Text sources: which files make documents, and what is refused with which words.
#include "data/text_source.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;

std::string text_of(const TextSource& source, int64_t index) {
  const RegularFile file = source.open_document(index);
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());
  return text;
}

TEST(TextSourceTest, FileIsOneDocument) {
  ScratchFolder folder;
  const TextSource source(folder.write("story.md", std::string("a\0b\xff", 4)));
  ASSERT_EQ(source.document_count(), 1);
  EXPECT_EQ(source.total_bytes(), 4);
  EXPECT_EQ(text_of(source, 0), std::string("a\0b\xff", 4));
}

TEST(TextSourceTest, FolderTakesTextFilesByNameAndSkipsEmptyOnes) {
  ScratchFolder folder;
  folder.write("b.txt", "second");
  folder.write("a.txt", "first");
  folder.write("c.txt", "");
  folder.write("notes.md", "no");
  std::filesystem::create_directory(folder / "d.txt");
  const TextSource source(folder.path());
  ASSERT_EQ(source.document_count(), 2);
  EXPECT_EQ(text_of(source, 0), "first");
  EXPECT_EQ(text_of(source, 1), "second");
  EXPECT_EQ(source.total_bytes(), 11);
}

TEST(TextSourceTest, RefusesWhatHoldsNoText) {
  ScratchFolder folder;
  expect_error(ExitStatus::kData, {"missing.txt", "does not exist", "training.dataset_path"},
               [&] { TextSource source(folder / "missing.txt"); });
  expect_error(ExitStatus::kData, {"does not exist"},
               [&] { TextSource source(folder.write("file", "x") / "below"); });
  expect_error(ExitStatus::kData, {"empty.txt", "is empty"},
               [&] { TextSource source(folder.write("empty.txt", "")); });
  std::filesystem::create_directory(folder / "bare");
  expect_error(ExitStatus::kData, {"bare", "holds no *.txt file"},
               [&] { TextSource source(folder / "bare"); });
  folder.write("hollow/a.txt", "");
  expect_error(ExitStatus::kData, {"hollow", "is empty"},
               [&] { TextSource source(folder / "hollow"); });
}

TEST(TextSourceTest, NeverWaitsForPipesSocketsOrDevices) {
  ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe.txt").c_str(), 0600), 0);
  expect_error(ExitStatus::kData, {"pipe.txt", "is a pipe", "regular file"},
               [&] { TextSource source(folder / "pipe.txt"); });
  expect_error(ExitStatus::kData, {"pipe.txt", "is a pipe"},
               [&] { TextSource source(folder.path()); });
  expect_error(ExitStatus::kData, {"/dev/zero", "is a device"},
               [&] { TextSource source("/dev/zero"); });

  const int socket_descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = (folder / "socket.txt").string();
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  name.copy(address.sun_path, name.size());
  ASSERT_EQ(bind(socket_descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  expect_error(ExitStatus::kData, {"socket.txt", "cannot be opened", "regular file"},
               [&] { TextSource source(folder / "socket.txt"); });
  close(socket_descriptor);
}

TEST(TextSourceTest, RefusesBrokenAndCircularLinks) {
  ScratchFolder folder;
  std::filesystem::create_symlink("nowhere", folder / "broken.txt");
  std::filesystem::create_symlink("loop.txt", folder / "loop.txt");
  expect_error(ExitStatus::kData, {"broken.txt", "does not exist"},
               [&] { TextSource source(folder / "broken.txt"); });
  expect_error(ExitStatus::kData, {"loop.txt", "cannot be opened"},
               [&] { TextSource source(folder / "loop.txt"); });
}

TEST(TextSourceTest, SaysWhenADocumentVanishes) {
  ScratchFolder folder;
  const TextSource source(folder.write("a.txt", "text"));
  std::filesystem::remove(folder / "a.txt");
  expect_error(ExitStatus::kData, {"a.txt", "does not exist", "keep the data in place"},
               [&] { source.open_document(0); });
}

TEST(RegularFileTest, SaysWhenTheFileShrinksAndMapsPrivately) {
  ScratchFolder folder;
  const auto path = folder.write("a.bin", "0123456789");
  const RegularFile file = RegularFile::open(path, "text file", "hint");
  {
    const std::shared_ptr<char> map = file.map();
    map.get()[0] = 'X';
    EXPECT_EQ(test::read_file(path), "0123456789");
  }
  std::filesystem::resize_file(path, 4);
  char bytes[10];
  expect_error(ExitStatus::kData, {"a.bin", "ends at byte 4", "10 bytes when it was opened"},
               [&] { file.read(0, bytes, 10); });
}

}  // namespace
}  // namespace titan::data
