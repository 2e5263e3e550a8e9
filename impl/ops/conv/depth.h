// The depth of a convolution over three dimensions as channels of images: image (n, z) holds the slices of the input
// that the kernel covers at depth z, so that a convolution of images does the rest. Nothing here records.
#pragma once

#include "ops/conv/window.h"
#include "tensor/tensor.h"

namespace halftone {

struct DepthWindow {
  WindowSteps steps;
  int64_t kernel;     // elements along the depth
  int64_t positions;  // depth of the result
  int64_t groups;
};

// The input [n, c, d, h, w] as images [n * positions, groups * kernel * (c / groups), h, w]; slices in the padding are
// 0.
Tensor depth_to_channels(const Tensor& input, const DepthWindow& window);
// The reverse for gradients: adds the slices of the images to their places in [n, c, d, h, w], in the order of the
// kernel's elements and in the dtype of the images.
Tensor channels_to_depth(const Tensor& images, const Shape& input, const DepthWindow& window);

// The weight [o, c, kd, kh, kw] as that of the convolution of images, [o, kd * c, kh, kw], and back.
Tensor weight_of_images(const Tensor& weight);
Tensor weight_of_volumes(const Tensor& weight, const Shape& shape);

// A result or its gradient [n, o, positions, h, w] as contiguous images [n * positions, o, h, w], and back.
Tensor volumes_as_images(const Tensor& volumes);
Tensor images_as_volumes(const Tensor& images, const Shape& shape);

}  // namespace halftone
