// Columns of a convolution's input: for each position of its output, the elements under the window. Host code queues
// the kernels that make them and that add them to their images again.
#pragma once

#include "cuda/base/stream.h"
#include "cuda/conv/convolution.h"

namespace halftone::cuda {

// Positions [first, first + count) of the output, which count through all images.
struct Positions {
  int64_t first = 0;
  int64_t count = 0;
};

// The convolution with a window of one element whose input is the output of `conv`: its columns are the elements.
Convolution elements_of_output(const Convolution& conv);

// columns: [all channels of conv.input * taps, positions] of the input's dtype, contiguous. 0 outside of the images.
Status gather_columns(Stream& stream, const Convolution& conv, const Positions& positions, void* columns) noexcept;

// Writes conv.input, which is contiguous: the sum of the columns in which an element lies, and the bias. columns as
// above, in the compute type. REQUIRES: whole images, or a window of one element with a stride of 1 and no padding.
Status add_columns(Stream& stream, const Convolution& conv, const Positions& positions, const void* columns) noexcept;

}  // namespace halftone::cuda
