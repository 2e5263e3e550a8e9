#include "ops/matmul/layer.h"

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/shape/stride.h"
#include "tensor/launch.h"

namespace halftone {

void require_layer(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  require_float(input, "input");
  require_same_dtype(input, "input", weight, "weight");
  require_same_device(input, "input", weight, "weight");
  if (weight.rank() != 2) {
    fail(Code::kShapeMismatch, "weight", "weight %s has %d dimensions, expected 2", ShapeText(weight.shape()).text,
         weight.rank());
  }
  if (input.rank() < 1 || input.size(input.rank() - 1) != weight.size(1)) {
    fail(Code::kShapeMismatch, "input", "input %s does not end in weight.shape[1]=%lld", ShapeText(input.shape()).text,
         static_cast<long long>(weight.size(1)));
  }
  if (!bias.defined()) return;
  require_same_dtype(input, "input", bias, "bias");
  require_same_device(input, "input", bias, "bias");
  if (bias.rank() != 1 || bias.size(0) != weight.size(0)) {
    fail(Code::kShapeMismatch, "bias", "bias %s differs from [weight.shape[0]=%lld]", ShapeText(bias.shape()).text,
         static_cast<long long>(weight.size(0)));
  }
}

namespace {

Shape shape_of_rows(const Tensor& tensor) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < tensor.rank(); ++i) rows *= tensor.size(i);
  return {rows, tensor.size(tensor.rank() - 1)};
}

}  // namespace

Tensor as_rows(const Tensor& tensor) { return reshaped(tensor, shape_of_rows(tensor)); }

RowsView::RowsView(const Tensor& tensor) : view_(tensor.view()) {
  if (tensor.rank() == 2) return;
  // Without a second tensor: rows of a contiguous tensor are a matter of shape.
  if (tensor.is_contiguous()) {
    view_.shape = shape_of_rows(tensor);
    view_.strides = contiguous_strides(view_.shape);
  } else {
    rows_ = as_rows(tensor);
    view_ = rows_.view();
  }
}

void sum_rows(const char* operation, const View& matrix, const Tensor& out, Store store) {
  const int64_t columns = matrix.shape[1];
  View row = out.view();
  row.shape = {1, columns};
  row.strides = {columns, 1};
  launch(operation, out.device(), &Kernels::reduce, &ReduceKernels::sum, matrix, 1.0, store, row);
}

}  // namespace halftone
