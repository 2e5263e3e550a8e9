#include "ops/conv/depth.h"

#include <algorithm>

#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

namespace {

Tensor with_swapped(const Tensor& tensor, int a, int b) {
  Shape shape = tensor.shape(), strides = tensor.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return tensor.as_strided(shape, strides, tensor.offset());
}

// The positions at which one element of the kernel is inside the input, and the first slice that it reads there.
struct Reach {
  int64_t begin;
  int64_t count;
  int64_t slice;
};

Reach reach_of(const DepthWindow& window, int64_t element, int64_t depth) {
  const int64_t stride = window.steps.stride;
  const int64_t origin = element * window.steps.dilation - window.steps.padding;
  const int64_t begin = origin < 0 ? (-origin + stride - 1) / stride : 0;
  const int64_t end = origin < depth ? std::min((depth - 1 - origin) / stride + 1, window.positions) : 0;
  return {begin, std::max<int64_t>(0, end - begin), begin * stride + origin};
}

// Calls f(images, slices) for each element of the kernel: the part of the images [n, positions, groups, c / groups, h,
// w] that belongs to the element, and the slices of the volumes in the same order.
template <class F>
void for_each_element(const Tensor& images, const Tensor& volumes, const DepthWindow& window, F&& f) {
  const int64_t n = volumes.size(0), channels = volumes.size(1) / window.groups, depth = volumes.size(2);
  const int64_t h = volumes.size(3), w = volumes.size(4);
  const Tensor parts = reshaped(images, {n, window.positions, window.groups, window.kernel, channels, h, w});
  const Tensor grouped = reshaped(volumes, {n, window.groups, channels, depth, h, w});
  const Tensor by_depth = with_swapped(with_swapped(grouped, 1, 3), 2, 3);  // [n, depth, groups, channels, h, w]
  for (int64_t k = 0; k < window.kernel; ++k) {
    const Reach reach = reach_of(window, k, depth);
    if (reach.count == 0) continue;
    const Tensor element = sliced(sliced(parts, {.dim = 3, .start = k, .length = 1}),
                                  {.dim = 1, .start = reach.begin, .length = reach.count});
    f(reshaped(element, {n, reach.count, window.groups, channels, h, w}),
      sliced(by_depth, {.dim = 1, .start = reach.slice, .length = reach.count, .step = window.steps.stride}));
  }
}

}  // namespace

Tensor depth_to_channels(const Tensor& input, const DepthWindow& window) {
  const Shape shape = {input.size(0) * window.positions, window.kernel * input.size(1), input.size(3), input.size(4)};
  const Tensor images = empty(input.device(), input.dtype(), checked_shape(shape.begin(), 4, "weight"));
  if (window.steps.padding > 0) fill(images, 0.0);
  for_each_element(images, contiguous(input), window,
                   [](const Tensor& image_part, const Tensor& slices) { copy(slices, image_part); });
  return images;
}

Tensor channels_to_depth(const Tensor& images, const Shape& input, const DepthWindow& window) {
  const Tensor volumes = full(images.device(), images.dtype(), input, 0.0);
  for_each_element(images, volumes, window, [&](const Tensor& image_part, const Tensor& slices) {
    launch("conv3d", images.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd, slices.view(),
           image_part.view(), slices.view());
  });
  return volumes;
}

Tensor weight_of_images(const Tensor& weight) {
  const Tensor swapped = with_swapped(weight, 1, 2);
  return contiguous(
      reshaped(swapped, {weight.size(0), weight.size(2) * weight.size(1), weight.size(3), weight.size(4)}));
}

Tensor weight_of_volumes(const Tensor& weight, const Shape& shape) {
  return contiguous(with_swapped(reshaped(weight, {shape[0], shape[2], shape[1], shape[3], shape[4]}), 1, 2));
}

Tensor volumes_as_images(const Tensor& volumes) {
  const Tensor by_depth = with_swapped(volumes, 1, 2);
  return contiguous(
      reshaped(by_depth, {volumes.size(0) * volumes.size(2), volumes.size(1), volumes.size(3), volumes.size(4)}));
}

Tensor images_as_volumes(const Tensor& images, const Shape& shape) {
  return contiguous(with_swapped(reshaped(images, {shape[0], shape[2], shape[1], shape[3], shape[4]}), 1, 2));
}

}  // namespace halftone
