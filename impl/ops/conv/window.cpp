#include "ops/conv/window.h"

#include <algorithm>
#include <cstdio>

#include "core/error.h"

namespace halftone {

void require_images(const Tensor& tensor, const char* argument, int dims, int first) {
  if (tensor.rank() != dims + 2) {
    char single[32] = "";
    if (first == 1) std::snprintf(single, sizeof single, ", or %d for one image", dims + 1);
    fail(Code::kShapeMismatch, argument, "%s %s has %d dimensions, expected %d%s", argument,
         ShapeText(tensor.shape()).text, tensor.rank(), dims + 2, single);
  }
  for (int i = first; i < tensor.rank(); ++i) {
    if (tensor.size(i) < 1) {
      fail(Code::kShapeMismatch, argument, "%s.shape[%d]=0, expected at least 1 (%s %s)", argument, i, argument,
           ShapeText(tensor.shape()).text);
    }
  }
}

void require_field(int64_t value, const char* field, const char* dim_name, int64_t least) {
  if (value >= least && value <= kLargestStep) return;
  fail(Code::kInvalidArgument, "options", "options.%s_%s=%lld, expected %lld to %lld", field, dim_name,
       static_cast<long long>(value), static_cast<long long>(least), static_cast<long long>(kLargestStep));
}

void require_steps(const WindowSteps& steps) {
  require_field(steps.stride, "stride", steps.dim_name, 1);
  require_field(steps.padding, "padding", steps.dim_name, 0);
  require_field(steps.dilation, "dilation", steps.dim_name, 1);
}

WindowSteps steps_along(const ConvWindow& window, int dim) {
  return {window.stride[dim], window.padding[dim], window.dilation[dim], kDimNames[dim]};
}

void require_window(const ConvWindow& window, int dims) {
  for (int d = 0; d < 2; ++d) require_steps(steps_along(window, d));
  // Windows of one dimension lie in an image of height 1.
  if (dims == 1 && (window.stride[0] != 1 || window.padding[0] != 0 || window.dilation[0] != 1)) {
    fail(Code::kInvalidArgument, "options",
         "options.stride_h=%lld, padding_h=%lld, dilation_h=%lld, expected 1, 0, 1: there is no height",
         static_cast<long long>(window.stride[0]), static_cast<long long>(window.padding[0]),
         static_cast<long long>(window.dilation[0]));
  }
}

// Sizes are below 2^60 and paddings below 2^31, so only the reach of a window may overflow 64 bits.
int64_t window_positions(const WindowSteps& steps, int64_t size, const NamedKernel& kernel, LastWindow last) {
  const int64_t stride = steps.stride;
  const int64_t padded = size + 2 * steps.padding;
  const int64_t available = padded + (last == LastWindow::kCut ? stride - 1 : 0);
  int64_t reach = 0;
  if (__builtin_mul_overflow(steps.dilation, kernel.size - 1, &reach) || reach >= available) {
    fail(Code::kInvalidArgument, kernel.argument,
         "%s spans %lld elements %lld apart along %s, more than the padded input's %lld", kernel.argument,
         static_cast<long long>(kernel.size), static_cast<long long>(steps.dilation), steps.dim_name,
         static_cast<long long>(padded));
  }
  const int64_t positions = (available - reach - 1) / stride + 1;
  // A window that begins behind the elements would hold padding alone. PyTorch leaves it out, too.
  const bool last_begins_behind = (positions - 1) * stride >= size + steps.padding;
  return last == LastWindow::kCut && last_begins_behind ? positions - 1 : positions;
}

int64_t window_positions(const ConvWindow& window, int dim, int64_t size, const NamedKernel& kernel, LastWindow last) {
  return window_positions(steps_along(window, dim), size, kernel, last);
}

int64_t transposed_size(const WindowSteps& steps, int64_t positions, int64_t kernel, int64_t output_padding) {
  int64_t distance = 0;
  int64_t reach = 0;
  int64_t total = output_padding + 1 - 2 * steps.padding;
  const bool overflows = __builtin_mul_overflow(positions - 1, steps.stride, &distance) ||
                         __builtin_mul_overflow(kernel - 1, steps.dilation, &reach) ||
                         __builtin_add_overflow(total, distance, &total) ||
                         __builtin_add_overflow(total, reach, &total);
  if (overflows || total < 1) {
    fail(Code::kInvalidArgument, "options", "the result's size along %s is %s", steps.dim_name,
         overflows ? "too large for 64 bits" : "less than 1");
  }
  return total;
}

// Up to max(stride, dilation) sizes of an image give a convolution of one size; the value chooses among them.
void require_output_padding(const WindowSteps& steps, int64_t value, bool transposes) {
  const int64_t limit = transposes ? std::max(steps.stride, steps.dilation) : 1;
  if (value >= 0 && value < limit) return;
  fail(Code::kInvalidArgument, "options", "options.output_padding_%s=%lld, expected 0 to %lld", steps.dim_name,
       static_cast<long long>(value), static_cast<long long>(limit - 1));
}

View as_image(const View& view) {
  if (view.rank() != 3) return view;
  const int64_t length = view.shape[2];
  return {.data = view.data,
          .dtype = view.dtype,
          .shape = {view.shape[0], view.shape[1], 1, length},
          .strides = {view.strides[0], view.strides[1], length * view.strides[2], view.strides[2]}};
}

}  // namespace halftone
