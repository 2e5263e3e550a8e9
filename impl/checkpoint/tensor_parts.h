// A tensor of a checkpoint and its parts in the files. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/box.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace halftone::checkpoint {

// Elements [begin, end) of the flattened tensor, or of a box of it, which a file holds under the tensor's name.
struct TensorPart {
  size_t file = 0;
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t checksum = 0;
  std::shared_ptr<const Box> box = nullptr;  // null: the tensor

  BoxRange range() const { return {.box = box.get(), .begin = begin, .end = end}; }
};

struct IndexTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<TensorPart> parts;  // in the order of coverage.h, each in another file; together they cover the tensor
};

}  // namespace halftone::checkpoint
