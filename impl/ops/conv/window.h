// Checks and sizes of windows that move over one or two dimensions. Messages name the fields of the C API's options.
#pragma once

#include "backend/kernels/conv.h"
#include "tensor/tensor.h"

namespace halftone {

// The dimensions' suffixes in option names.
inline constexpr const char* kDimNames[] = {"h", "w"};

// The upper bound of strides, paddings and the like.
inline constexpr int64_t kLargestStep = (int64_t{1} << 31) - 1;

// Throws SHAPE_MISMATCH unless the tensor has `dims` + 2 dimensions, and none from `first` on has size 0. Images, for
// which `first` is 1, may have been given without a batch.
void require_images(const Tensor& tensor, const char* argument, int dims, int first = 1);

// Throws INVALID_ARGUMENT naming `options` unless `value` of options.<field>_<dim_name> is in [least, 2^31).
void require_field(int64_t value, const char* field, const char* dim_name, int64_t least);
// Strides and dilations are at least 1, paddings at least 0. For one dimension (`dims` 1) the heights must be the
// defaults.
void require_window(const ConvWindow& window, int dims);

// The movement of a window along one dimension, and the suffix of its options.
struct WindowSteps {
  int64_t stride;
  int64_t padding;
  int64_t dilation;
  const char* dim_name;
};
WindowSteps steps_along(const ConvWindow& window, int dim);
// Throws INVALID_ARGUMENT naming `options` unless the stride and the dilation are at least 1 and the padding at least
// 0.
void require_steps(const WindowSteps& steps);

// A window's size along a dimension, and the argument that messages name for it.
struct NamedKernel {
  int64_t size;
  const char* argument;
};

// kCut: a last window that reaches beyond the padded input counts if it begins in the input or in the padding before
// it. kWhole: it does not count.
enum class LastWindow { kWhole, kCut };

// The number of positions of the window along a dimension. Throws INVALID_ARGUMENT naming `argument` if there is none.
int64_t window_positions(const WindowSteps& steps, int64_t size, const NamedKernel& kernel,
                         LastWindow last = LastWindow::kWhole);
int64_t window_positions(const ConvWindow& window, int dim, int64_t size, const NamedKernel& kernel,
                         LastWindow last = LastWindow::kWhole);

// The result's size along a dimension of a transpose of `positions` windows: (positions - 1) stride - 2 padding +
// dilation (kernel - 1) + output_padding + 1. Throws INVALID_ARGUMENT naming `options` if that is below 1.
int64_t transposed_size(const WindowSteps& steps, int64_t positions, int64_t kernel, int64_t output_padding);
// Throws INVALID_ARGUMENT naming `options` unless the value is below the stride or the dilation, or 0 where only
// transposes have it.
void require_output_padding(const WindowSteps& steps, int64_t value, bool transposes);

// [n, c, l] as [n, c, 1, l]; [n, c, h, w] unchanged.
View as_image(const View& view);

}  // namespace halftone
