// Batch normalisation, whose rows are the channels of a tensor: few rows of many elements, which lie far apart or side
// by side with those of other channels. Many blocks share a row: they find its moments together, and then normalise
// elements in the order of memory.
#pragma once

#include "backend/kernels/norm.h"

namespace halftone::cuda {

// True if this form computes the normalisation, false if that of row_norm.cu does. By shapes and strides alone.
bool is_column_norm(const RowNorm& norm, const View& x) noexcept;

Status column_norm(Stream& stream, const RowNorm& norm, const View& x, const NormAffine& affine,
                   const NormStatistics& statistics, const View& out) noexcept;
// Writes the complete sums of weight and bias to the first piece, and 0 to the others.
Status column_norm_backward(Stream& stream, const RowNorm& norm, const NormSaved& saved,
                            const NormGrads& out_grads) noexcept;

}  // namespace halftone::cuda
