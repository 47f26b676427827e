/// Writes an event file with one text sample: what no command of titan reports yet.
///
/// Usage: write_sample FOLDER
#include <cstdio>

#include "observe/tensorboard_writer.h"

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: write_sample FOLDER\n");
    return 2;
  }
  titan::observe::TensorBoardWriter writer(words[1], 0);
  writer.write(
      titan::observe::TextSample{7, 1700000000.5, "first", "It is", "a truth\xff\nuniversally"});
  std::puts(writer.path().parent_path().c_str());
  return 0;
}
