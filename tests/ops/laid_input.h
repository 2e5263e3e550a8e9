// An operation's input in memory of the test, or of a device whose memory host code cannot access, in any layout. Gaps
// between the elements hold NaN (integers: all bits set), so a result that depends on a neighbour shows. Used from one
// thread.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "op_case.h"

namespace halftone {

enum class Layout {
  kContiguous,
  kGaps,           // every second element, with gaps between rows
  kReversed,       // the first dimension innermost, with gaps between columns
  kRepeatedFirst,  // stride 0 in the first dimension that has more than one index
  kRepeatedLast,   // stride 0 in the last such dimension
};

const char* name_of(Layout layout);

// The values of a case's input in a layout, as exactly as the dtype allows.
Array draw_input(const OpInput& input, DType dtype, const Shapes& shapes, size_t which, Layout layout);

// Rounds every element to the dtype.
void round_to(Array& array, DType dtype);

class LaidInput {
 public:
  LaidInput(ContextDevice& device, DType dtype, const Array& values, Layout layout);
  LaidInput(LaidInput&&) = default;

  const Tensor& tensor() const { return tensor_; }
  bool is_unchanged() const;

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::byte> before_;
  Tensor whole_;  // with the gaps and margins
  Tensor tensor_;
};

// The elements in row-major order, read without the library's kernels.
std::vector<double> elements_of(const Tensor& tensor);

}  // namespace halftone
