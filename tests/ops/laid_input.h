// An operation's input in memory of the test: any layout, and NaN (in integers: all bits) wherever no element stands,
// so that a result which depends on a neighbour shows. Used from one thread.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "op_case.h"

namespace halftone {

enum class Layout {
  kContiguous,
  kGaps,           // every second element, and rows further apart than they are long
  kReversed,       // the first dimension innermost, and columns further apart than they are long
  kRepeatedFirst,  // stride 0 in the first dimension that has more than one index
  kRepeatedLast,   // in the last
};

const char* name_of(Layout layout);

// What a case's input holds in a layout, as exactly as the dtype can.
Array draw_input(const OpInput& input, DType dtype, const Shapes& shapes, size_t which, Layout layout);

// Every element rounded to what the dtype can hold.
void round_to(Array& array, DType dtype);

class LaidInput {
 public:
  LaidInput(ContextDevice& device, DType dtype, const Array& values, Layout layout);
  LaidInput(LaidInput&&) = default;

  const Tensor& tensor() const { return tensor_; }
  bool is_unchanged() const { return bytes_ == before_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::byte> before_;
  Tensor tensor_;
};

// The elements in row-major order, read without the library's kernels.
std::vector<double> elements_of(const Tensor& tensor);

}  // namespace halftone
