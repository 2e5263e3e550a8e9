// Padding before the shorter prompts of a batch, so that all end in one column, and the inputs of a model that hide it.
// generate uses it. One thread.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace halftone::nn {

class LeftPadding {
 public:
  LeftPadding() = default;  // none in any row
  // From a mask of the shape of `tokens`, bool or u8, which is not 0 where a token is none. Throws DTYPE_MISMATCH,
  // SHAPE_MISMATCH, DEVICE or INVALID_ARGUMENT naming "options", the latter unless each row has padding before tokens.
  LeftPadding(const Tensor& mask, const Tensor& tokens);

  bool is_none() const noexcept { return widths_.empty(); }
  // The most tokens that a row has in the columns [begin, end). REQUIRES: not is_none(), as below.
  int64_t most_tokens(int64_t begin, int64_t end) const noexcept;
  // [batch, 1, 1, end - begin], bool: the columns that hold no padding.
  Tensor mask(int64_t begin, int64_t end) const;
  // [batch, end - from], i64: of the columns [from, end), if the model sees those from `begin` on. Padding has 0.
  Tensor positions(int64_t begin, int64_t from, int64_t end) const;

 private:
  ContextDevice* device_ = nullptr;
  std::vector<int64_t> widths_;  // of the rows' padding; empty if all are 0
};

}  // namespace halftone::nn
