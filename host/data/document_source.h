/// Documents one after the other, without an end.
#pragma once

#include <cstdint>
#include <string>

#include "data/token_stream.h"

namespace titan::data {

/// How documents are ordered and shared out. Every epoch has an order of its own, which the seed
/// fixes.
struct DocumentOrder {
  bool shuffle = false;
  int64_t seed = 0;
  DataShare share;
};

/// There is always a current document; the first one when the source was made.
class DocumentSource {
 public:
  virtual ~DocumentSource() = default;

  /// Copies up to `size` bytes of the current document that begin at `offset`; fewer only at its
  /// end. Cheap if the offsets grow.
  virtual int64_t read(int64_t offset, char* to, int64_t size) = 0;
  /// Makes the next document of this rank the current one; at the end of the data a new epoch
  /// begins.
  virtual void next() = 0;

  /// Where the current document is: `byte` and `token` are 0.
  virtual StreamPosition place() const = 0;
  /// Goes to a document by its place(), whatever `byte` and `token` are. False if there is none,
  /// the current document stays then.
  virtual bool seek(const StreamPosition& place) = 0;

  /// Upper bounds for one epoch over all ranks.
  virtual int64_t content_bytes() const = 0;
  virtual int64_t document_count() const = 0;
  /// On disk.
  virtual int64_t total_bytes() const = 0;
  virtual std::string where() const = 0;
};

/// More than any data has, where a size is not known before it was read; sums of two still fit.
inline constexpr int64_t kUnknownSize = int64_t{1} << 60;

}  // namespace titan::data
