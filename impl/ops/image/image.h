// Operations that move the elements of images; capi/include/halftone/image.h documents them. Included by ops/ops.h.
#pragma once

#include "backend/kernels/conv.h"
#include "ops/shape/shape.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// [..., c * factor^2, h, w] as [..., c, h * factor, w * factor], and back. REQUIRES: factor is at least 1.
Tensor pixel_shuffle(const Tensor& input, int64_t factor);
Tensor pixel_unshuffle(const Tensor& input, int64_t factor);

// Padding with elements of the input: mirrored at an end without repeating it, the element at the end, or those of the
// other end.
Tensor pad_reflect(const Tensor& input, const Padding& padding);
Tensor pad_replicate(const Tensor& input, const Padding& padding);
Tensor pad_circular(const Tensor& input, const Padding& padding);

// {height, width}.
struct FoldOptions {
  int64_t kernel[2] = {1, 1};
  ConvWindow window;
};
// Throws INVALID_ARGUMENT naming `options` or the kernel's size.
void require_fold_options(const FoldOptions& options);
// The windows of images [n, c, h, w] as columns [n, c * kernel, positions], and the sums of columns at their places in
// images. Either may be given without n.
Tensor unfold(const Tensor& input, const FoldOptions& options);
Tensor fold(const Tensor& input, int64_t height, int64_t width, const FoldOptions& options);

}  // namespace halftone::ops
