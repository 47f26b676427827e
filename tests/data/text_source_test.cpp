/// Text sources: which files make documents, and what is refused with which words.
#include "data/text_source.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <set>

#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;

std::string text_of(TextSource& source) {
  std::string text(1 << 16, '\0');
  text.resize(static_cast<size_t>(source.read(0, text.data(), static_cast<int64_t>(text.size()))));
  return text;
}

/// The texts of the next `count` documents, from the current one on.
std::vector<std::string> texts_of(TextSource& source, int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i, source.next()) texts.push_back(text_of(source));
  return texts;
}

TEST(TextSourceTest, FileIsOneDocument) {
  ScratchFolder folder;
  TextSource source(folder.write("story.md", std::string("a\0b\xff", 4)));
  ASSERT_EQ(source.document_count(), 1);
  EXPECT_EQ(source.total_bytes(), 4);
  EXPECT_EQ(text_of(source), std::string("a\0b\xff", 4));
  source.next();
  EXPECT_EQ(source.place().epoch, 1);
}

TEST(TextSourceTest, FolderTakesTextFilesByNameAndSkipsEmptyOnes) {
  ScratchFolder folder;
  folder.write("b.txt", "second");
  folder.write("a.txt", "first");
  folder.write("c.txt", "");
  folder.write("notes.md", "no");
  std::filesystem::create_directory(folder / "d.txt");
  TextSource source(folder.path());
  ASSERT_EQ(source.document_count(), 2);
  EXPECT_EQ(source.total_bytes(), 11);
  EXPECT_EQ(texts_of(source, 3), (std::vector<std::string>{"first", "second", "first"}));
}

TEST(TextSourceTest, PatternsTakeWhatMatches) {
  ScratchFolder folder;
  folder.write("part-1.log", "one");
  folder.write("part-2.log", "two");
  folder.write("other.log", "no");
  folder.write("[odd].txt", "odd");
  TextSource source(folder / "part-*.log");
  EXPECT_EQ(texts_of(source, 2), (std::vector<std::string>{"one", "two"}));
  TextSource odd(folder / "[odd].txt");
  EXPECT_EQ(text_of(odd), "odd") << "a file whose name looks like a pattern";
  expect_error(ExitStatus::kData, {"no file matches", "none-*.txt", "training.dataset_path"},
               [&] { TextSource missing(folder / "none-*.txt"); });
}

TEST(TextSourceTest, ShufflingIsAPermutationOfItsOwnInEveryEpoch) {
  ScratchFolder folder;
  std::set<std::string> all;
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::string("file").append(std::to_string(i));
    folder.write(name + ".txt", name);
    all.insert(name);
  }
  TextSource source(folder.path(), {true, 5, {}}), again(folder.path(), {true, 5, {}}),
      other(folder.path(), {true, 6, {}});
  const auto first = texts_of(source, 20), second = texts_of(source, 20);
  EXPECT_EQ(std::set(first.begin(), first.end()), all);
  EXPECT_EQ(std::set(second.begin(), second.end()), all);
  EXPECT_NE(first, second);
  EXPECT_EQ(texts_of(again, 20), first);
  EXPECT_NE(texts_of(other, 20), first);
}

TEST(TextSourceTest, RanksShareTheDocumentsOut) {
  ScratchFolder folder;
  for (const char c : std::string("abcdefg"))
    folder.write(std::string(1, c) + ".txt", std::string(1, c));
  for (const bool shuffle : {false, true}) {
    std::multiset<std::string> seen;
    for (int64_t rank = 0; rank < 3; ++rank) {
      TextSource source(folder.path(), {shuffle, 1, {}});
      source.share_out({rank, 3});
      for (; source.place().epoch == 0; source.next()) seen.insert(text_of(source));
      EXPECT_FALSE(source.seek({0, (rank + 1) % 3, 0, 0})) << "the place of another rank";
    }
    EXPECT_EQ(seen, (std::multiset<std::string>{"a", "b", "c", "d", "e", "f", "g"}));
  }
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
  folder.write("b.txt", "more");
  TextSource source(folder.write("a.txt", "text").parent_path());
  std::filesystem::remove(folder / "b.txt");
  expect_error(ExitStatus::kData, {"b.txt", "does not exist", "keep the data in place"},
               [&] { source.next(); });
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
