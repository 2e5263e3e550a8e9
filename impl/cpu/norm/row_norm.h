// Normalisation of rows; documented at NormKernels. Safe from any thread.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::cpu {

Status row_norm(Stream& stream, const RowNorm& norm, const NormInput& input, const NormAffine& affine,
                const NormStatistics& statistics, const View& out) noexcept;
Status row_norm_backward(Stream& stream, const RowNorm& norm, const NormSaved& saved,
                         const NormGrads& out_grads) noexcept;

}  // namespace halftone::cpu
