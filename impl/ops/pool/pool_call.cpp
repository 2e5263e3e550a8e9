#include "ops/pool/pool_call.h"

#include "core/error.h"
#include "ops/conv/window.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

constexpr const char* kKernelNames[] = {"kernel_h", "kernel_w"};

void require_size(int64_t value, const char* argument) {
  if (value >= 1 && value <= kLargestStep) return;
  fail(Code::kInvalidArgument, argument, "%s=%lld, expected 1 to %lld", argument, static_cast<long long>(value),
       static_cast<long long>(kLargestStep));
}

Tensor pool_input(Op op, int dims, const Tensor& input) {
  require_float(input, "input");
  const Tensor images = input.rank() == dims + 1 ? unsqueeze(input, 0) : input;
  require_images(images, "input", dims);
  return autocast_read(images, autocast_operand_dtype(op, images.dtype(), images.dtype()));
}

Shape pooled_shape(const Tensor& input, const PoolOptions& options) {
  Shape shape = {input.size(0), input.size(1)};
  for (int i = 2; i < input.rank(); ++i) {
    const int dim = 4 - input.rank() + i - 2;
    shape.push_back(window_positions(options.window, dim, input.size(i), {options.kernel[dim], kKernelNames[dim]},
                                     options.last_window));
  }
  return checked_shape(shape.begin(), shape.rank(), "options");
}

}  // namespace

// At least half of a window must be inside the input, as in PyTorch: otherwise it could see nothing but padding.
void require_pool_options(const PoolOptions& options, int dims) {
  for (int d = 0; d < 2; ++d) require_size(options.kernel[d], kKernelNames[d]);
  require_window(options.window, dims);
  for (int d = 0; d < 2; ++d) {
    const int64_t reach = options.window.dilation[d] * (options.kernel[d] - 1) + 1;
    if (options.window.padding[d] > reach / 2) {
      fail(Code::kInvalidArgument, "options", "options.padding_%s=%lld is more than half of the window's %lld",
           kDimNames[d], static_cast<long long>(options.window.padding[d]), static_cast<long long>(reach));
    }
  }
}

void require_result_size(int64_t value, const char* argument) { require_size(value, argument); }

PoolCall windowed_call(Op op, int dims, const Tensor& input, const PoolOptions& options) {
  require_pool_options(options, dims);
  const Tensor x = pool_input(op, dims, input);
  return {.op = op,
          .input = x,
          .shape = pooled_shape(x, options),
          .options = options,
          .is_single = input.rank() < x.rank()};
}

PoolCall adaptive_call(Op op, const Tensor& input, int64_t result_w) {
  const Tensor x = pool_input(op, 1, input);
  require_result_size(result_w, "result_w");
  const int64_t shape[] = {x.size(0), x.size(1), result_w};
  return {.op = op,
          .input = x,
          .shape = checked_shape(shape, 3, "result_w"),
          .is_adaptive = true,
          .is_single = input.rank() < x.rank()};
}

PoolCall adaptive_call(Op op, const Tensor& input, int64_t result_h, int64_t result_w) {
  const Tensor x = pool_input(op, 2, input);
  require_result_size(result_h, "result_h");
  require_result_size(result_w, "result_w");
  const int64_t shape[] = {x.size(0), x.size(1), result_h, result_w};
  const char* larger = result_h > result_w ? "result_h" : "result_w";
  return {.op = op,
          .input = x,
          .shape = checked_shape(shape, 4, larger),
          .is_adaptive = true,
          .is_single = input.rank() < x.rank()};
}

Tensor pooled(const PoolCall& call, const Tensor& result) { return call.is_single ? squeeze(result, {0}) : result; }

PoolArgs pool_args(const PoolOptions& options, const Tensor& input, const Tensor& result) {
  return {.input = as_image(input.view()),
          .output = as_image(result.view()),
          .kernel = {options.kernel[0], options.kernel[1]},
          .window = options.window,
          .counts_padding = options.counts_padding};
}

Tensor pool_sums(ContextDevice& device, DType dtype, const Shape& shape) {
  return empty(device, dtype == DType::kF64 ? DType::kF64 : DType::kF32, shape);
}

Tensor pool_gradient(const Tensor& sums, DType dtype) { return sums.dtype() == dtype ? sums : converted(sums, dtype); }

}  // namespace halftone::ops
