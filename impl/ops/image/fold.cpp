// unfold and fold, each of which is the gradient of the other. A window's elements are a strided view of the padded
// images, so unfold is one copy, and fold adds one view for each element of the kernel.
#include "core/error.h"
#include "ops/conv/window.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/image/image.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

constexpr const char* kKernelNames[] = {"kernel_h", "kernel_w"};

// The images [n, c, h, w] of a fold, and the numbers of its windows along height and width.
struct Folding {
  Shape images;
  FoldOptions options;
  int64_t positions[2];

  Folding(const Shape& its_images, const FoldOptions& its_options) : images(its_images), options(its_options) {
    for (int d = 0; d < 2; ++d) {
      positions[d] = window_positions(options.window, d, images[2 + d], {options.kernel[d], kKernelNames[d]});
    }
  }

  Shape columns() const {
    int64_t rows = 0;
    if (__builtin_mul_overflow(images[1], options.kernel[0], &rows) ||
        __builtin_mul_overflow(rows, options.kernel[1], &rows)) {
      rows = -1;
    }
    const int64_t shape[] = {images[0], rows, positions[0] * positions[1]};
    return checked_shape(shape, 3, "options");
  }
  Shape separated() const {
    return {images[0], images[1], options.kernel[0], options.kernel[1], positions[0], positions[1]};
  }
  Shape padded() const {
    Shape shape = images;
    for (int d = 0; d < 2; ++d) shape[2 + d] += 2 * options.window.padding[d];
    return checked_shape(shape.begin(), 4, "options");
  }
  // The part of padded images that the images are.
  Tensor inside(const Tensor& padded_images) const {
    Tensor part = padded_images;
    for (int d = 0; d < 2; ++d) {
      part = sliced(part, {.dim = 2 + d, .start = options.window.padding[d], .length = images[2 + d]});
    }
    return part;
  }
};

// The elements of all windows of contiguous padded images: `separated()` with the strides of the images.
Tensor windows_of(const Tensor& padded, const Folding& folding) {
  const Shape& strides = padded.strides();
  const ConvWindow& window = folding.options.window;
  return padded.as_strided(folding.separated(),
                           {strides[0], strides[1], window.dilation[0] * strides[2], window.dilation[1] * strides[3],
                            window.stride[0] * strides[2], window.stride[1] * strides[3]},
                           padded.offset());
}

Tensor columns_of(const Tensor& images, const Folding& folding) {
  const ConvWindow& window = folding.options.window;
  Tensor padded = contiguous(images);
  if (window.padding[0] > 0 || window.padding[1] > 0) {
    padded = full(images.device(), images.dtype(), folding.padded(), 0.0);
    copy(images, folding.inside(padded));
  }
  const Tensor columns = empty(images.device(), images.dtype(), folding.columns());
  copy(windows_of(padded, folding), reshaped(columns, folding.separated()));
  return columns;
}

// Windows overlap, but those of one element of the kernel do not: each addition is of different elements.
Tensor images_of(const Tensor& columns, const Folding& folding, DType dtype) {
  const Tensor sums = full(columns.device(), wide_dtype(dtype), folding.padded(), 0.0);
  const Tensor windows = windows_of(sums, folding);
  const Tensor parts = reshaped(columns, folding.separated());
  for (int64_t i = 0; i < folding.options.kernel[0]; ++i) {
    for (int64_t j = 0; j < folding.options.kernel[1]; ++j) {
      const auto element = [&](const Tensor& tensor) {
        return sliced(sliced(tensor, {.dim = 2, .start = i, .length = 1}), {.dim = 3, .start = j, .length = 1}).view();
      };
      launch("fold", sums.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd,
             element(windows), element(parts), element(windows));
    }
  }
  return converted(folding.inside(sums), dtype);
}

struct UnfoldBackward final : Node {
  Folding folding;
  DType dtype;

  UnfoldBackward() : folding({1, 1, 1, 1}, {}) {}
  const char* name() const noexcept override { return "unfold"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, images_of(grads[0], folding, dtype));
  }
  void release_saved() noexcept override {}
};

struct FoldBackward final : Node {
  Folding folding;
  DType dtype;

  FoldBackward() : folding({1, 1, 1, 1}, {}) {}
  const char* name() const noexcept override { return "fold"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor columns = columns_of(grads[0], folding);
    inputs.set(0, columns.dtype() == dtype ? columns : converted(columns, dtype));
  }
  void release_saved() noexcept override {}
};

void require_columns(const Tensor& input, const Folding& folding) {
  const int64_t area = folding.options.kernel[0] * folding.options.kernel[1];
  const int64_t positions = folding.positions[0] * folding.positions[1];
  if (input.size(2) == positions) return;
  fail(Code::kShapeMismatch, "input", "input.shape[2]=%lld, expected the %lld positions of a window of %lld elements",
       static_cast<long long>(input.size(2)), static_cast<long long>(positions), static_cast<long long>(area));
}

// The channels of columns: their rows for each element of the kernel.
int64_t channels_of(const Tensor& input, const FoldOptions& options) {
  int64_t area = 0;
  const bool overflows = __builtin_mul_overflow(options.kernel[0], options.kernel[1], &area);
  if (!overflows && input.size(1) > 0 && input.size(1) % area == 0) return input.size(1) / area;
  fail(Code::kShapeMismatch, "input", "input.shape[1]=%lld is not a multiple of %lld x %lld, the kernel's size",
       static_cast<long long>(input.size(1)), static_cast<long long>(options.kernel[0]),
       static_cast<long long>(options.kernel[1]));
}

}  // namespace

void require_fold_options(const FoldOptions& options) {
  for (int d = 0; d < 2; ++d) {
    if (options.kernel[d] >= 1 && options.kernel[d] <= kLargestStep) continue;
    fail(Code::kInvalidArgument, kKernelNames[d], "%s=%lld, expected 1 to %lld", kKernelNames[d],
         static_cast<long long>(options.kernel[d]), static_cast<long long>(kLargestStep));
  }
  require_window(options.window, 2);
}

Tensor unfold(const Tensor& input, const FoldOptions& options) {
  if (input.rank() == 3) return squeeze(unfold(unsqueeze(input, 0), options), {0});
  require_images(input, "input", 2);
  const Folding folding(input.shape(), options);
  const Tensor result = columns_of(input, folding);
  if (auto* node = record<UnfoldBackward>(result, {&input})) {
    node->folding = folding;
    node->dtype = input.dtype();
  }
  return result;
}

Tensor fold(const Tensor& given, int64_t height, int64_t width, const FoldOptions& options) {
  if (given.rank() == 2) return squeeze(fold(unsqueeze(given, 0), height, width, options), {0});
  require_float(given, "input");
  require_images(given, "input", 1);
  const auto [input, dtype] = autocast_unary(Op::kFold, given);
  const int64_t shape[] = {input.size(0), channels_of(input, options), height, width};
  const Folding folding(checked_shape(shape, 4, height > width ? "height" : "width"), options);
  require_columns(input, folding);
  const Tensor result = images_of(input, folding, dtype);
  if (auto* node = record<FoldBackward>(result, {&input})) {
    node->folding = folding;
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
