// The gradients of weight and bias of a normalisation by rows: sums over the rows of each piece.
#pragma once

#include "backend/kernels/norm.h"

namespace halftone::cuda {

// Writes every piece's sums of grad_output n and grad_output, where n is the normalised row; null for none.
Status affine_sums(Stream& stream, const RowNorm& norm, const NormSaved& saved, const NormGrads& out_grads) noexcept;

}  // namespace halftone::cuda
