// Checks that the ranges of one tensor, which ranks have, cover it without a gap or an overlap. Used while one tensor's
// ranges are walked in ascending order. One thread at a time.
#pragma once

#include <cstdint>

#include "checkpoint/index.h"

namespace halftone::checkpoint {

class Coverage {
 public:
  // REQUIRES: the tensor outlives the object.
  explicit Coverage(const IndexTensor& tensor) : tensor_(tensor) {}

  // Adds elements [begin, end). Throws FORMAT naming the tensor if they do not begin where the range before ends.
  void add(int64_t begin, int64_t end);
  // Throws FORMAT naming the tensor unless the last range ends with the tensor.
  void finish() const { require_next(numel(tensor_.shape)); }

 private:
  void require_next(int64_t begin) const;

  const IndexTensor& tensor_;
  int64_t end_ = 0;
};

// Throws FORMAT naming the tensor if two ranks have it in another dtype or shape.
void require_alike(const IndexTensor& one, const IndexTensor& other);

}  // namespace halftone::checkpoint
