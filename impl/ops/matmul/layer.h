// The operands of a linear layer, for linear and for operations that contain one.
#pragma once

#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// Checks input [..., k], weight [n, k] and bias [n] (may be undefined): one float dtype, one device. The texts of its
// errors are no part of a caller's frame.
[[gnu::noinline]] void require_layer(const Tensor& input, const Tensor& weight, const Tensor& bias);

// [..., columns] as [rows, columns]; copies only if the strides do not allow a view.
Tensor as_rows(const Tensor& tensor);

// The view that as_rows gives, for a kernel. A matrix and a contiguous tensor need no second tensor object for it.
class RowsView {
 public:
  explicit RowsView(const Tensor& tensor);
  const View& operator*() const noexcept { return view_; }

 private:
  Tensor rows_;  // undefined where the tensor itself is viewed
  View view_;
};

// Stores the sum of the rows of `matrix` in `out` [columns]: the gradient of a bias.
void sum_rows(const char* operation, const View& matrix, const Tensor& out, Store store);

}  // namespace halftone
