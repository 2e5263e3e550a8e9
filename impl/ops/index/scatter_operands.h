// The checked operands of the operations that join a source with an input by index. Nothing here records.
#pragma once

#include "ops/dispatch/op.h"
#include "tensor/tensor.h"

namespace halftone {

struct ScatterOperands {
  Op op;
  const Tensor& input;
  const Tensor& source;
  int dim;
  Tensor index;  // checked
};

// For an index with an entry for each element. `input` and `source` must outlive the result.
ScatterOperands element_operands(Op op, const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
// For a vector that names slices of the input; the source has as many of them.
ScatterOperands slice_operands(Op op, const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);

// Checks the saved index again, before elements are picked by it: it may be in memory of the embedding program, which
// may have changed it since forward.
Tensor checked_again(const Tensor& index, const Tensor& grad, int dim);

}  // namespace halftone
