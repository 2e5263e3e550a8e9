// Pooling of volumes in two passes: over the images of each depth, then over the depths. The first of equal maxima and
// the last NaN of a window are those of one pass, since depths come before rows, and the divisor of an average is the
// product of those of its dimensions.
#include "ops/pool/pool3d.h"

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/wide_operand.h"
#include "ops/pool/byte_images.h"
#include "ops/pool/pool.h"
#include "ops/pool/pool_call.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

namespace {

constexpr const char* kNames[] = {"d", "h", "w"};
constexpr const char* kVolumeKernelNames[] = {"kernel_d", "kernel_h", "kernel_w"};

WindowSteps steps_along(const Pool3dOptions& options, int dim) {
  return {options.stride[dim], options.padding[dim], options.dilation[dim], kNames[dim]};
}

// The volumes as a batch, in the dtype that autocast selects.
Tensor volumes_of(Op op, const Tensor& input) {
  require_float(input, "input");
  const Tensor volumes = input.rank() == 4 ? unsqueeze(input, 0) : input;
  require_images(volumes, "input", 3);
  return autocast_read(volumes, autocast_operand_dtype(op, volumes.dtype(), volumes.dtype()));
}

Shape shape_of_pooled_volumes(const Tensor& volumes, const Pool3dOptions& options) {
  Shape shape = {volumes.size(0), volumes.size(1)};
  for (int d = 0; d < 3; ++d) {
    shape.push_back(window_positions(steps_along(options, d), volumes.size(2 + d),
                                     {options.kernel[d], kVolumeKernelNames[d]}, options.last_window));
  }
  return checked_shape(shape.begin(), shape.rank(), "options");
}

PoolOptions options_of_images(const Pool3dOptions& options) {
  return {.kernel = {options.kernel[1], options.kernel[2]},
          .window = {.stride = {options.stride[1], options.stride[2]},
                     .padding = {options.padding[1], options.padding[2]},
                     .dilation = {options.dilation[1], options.dilation[2]}},
          .counts_padding = options.counts_padding,
          .last_window = options.last_window};
}

// Depths are rows, and the elements of an image columns.
PoolOptions options_of_depths(const Pool3dOptions& options) {
  return {.kernel = {options.kernel[0], 1},
          .window = {.stride = {options.stride[0], 1},
                     .padding = {options.padding[0], 0},
                     .dilation = {options.dilation[0], 1}},
          .counts_padding = options.counts_padding,
          .last_window = options.last_window};
}

using Pool2d = Tensor (*)(const Tensor&, const PoolOptions&);

Tensor pooled(Pool2d pool, const Tensor& x, const Pool3dOptions& options, const Shape& shape) {
  const int64_t n = x.size(0), channels = x.size(1), depth = x.size(2);
  const Tensor images = pool(reshape(x, {n, channels * depth, x.size(3), x.size(4)}), options_of_images(options));
  const Tensor depths = reshape(images, {n, channels, depth, shape[3] * shape[4]});
  return reshape(pool(depths, options_of_depths(options)), shape);
}

Tensor without_batch(const Tensor& input, const Tensor& result) {
  return input.rank() == 4 ? squeeze(result, {0}) : result;
}

}  // namespace

void require_pool3d_options(const Pool3dOptions& options) {
  for (int d = 0; d < 3; ++d) {
    require_result_size(options.kernel[d], kVolumeKernelNames[d]);
    require_steps(steps_along(options, d));
    const int64_t reach = options.dilation[d] * (options.kernel[d] - 1) + 1;
    if (options.padding[d] <= reach / 2) continue;
    fail(Code::kInvalidArgument, "options", "options.padding_%s=%lld is more than half of the window's %lld", kNames[d],
         static_cast<long long>(options.padding[d]), static_cast<long long>(reach));
  }
}

Tensor max_pool3d(const Tensor& input, const Pool3dOptions& options) {
  return with_bytes(input, [&](const Tensor& volumes) {
    const Tensor x = volumes_of(Op::kMaxPool3d, volumes);
    const WithoutAutocast parts;
    return without_batch(volumes, pooled(max_pool2d, x, options, shape_of_pooled_volumes(x, options)));
  });
}

// 16-bit averages of images stay in FP32 until they are averaged.
Tensor avg_pool3d(const Tensor& input, const Pool3dOptions& options) {
  const Tensor x = volumes_of(Op::kAvgPool3d, input);
  const WithoutAutocast parts;
  const Tensor wide = cast(x, wide_dtype(x.dtype()));
  return without_batch(input, cast(pooled(avg_pool2d, wide, options, shape_of_pooled_volumes(x, options)), x.dtype()));
}

}  // namespace halftone::ops
