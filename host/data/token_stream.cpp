#include "data/token_stream.h"

#include <algorithm>
#include <vector>

namespace titan::data {

void TokenStream::skip(int64_t count) {
  std::vector<int64_t> unused(static_cast<size_t>(std::min<int64_t>(count, 1 << 16)));
  for (int64_t left = count; left > 0; left -= static_cast<int64_t>(unused.size())) {
    unused.resize(
        static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(unused.size()))));
    read(unused);
  }
}

}  // namespace titan::data
