// The entries of the index kernels; index.h of the seam gives their contracts.
#pragma once

#include "backend/kernels/index.h"

namespace halftone::cuda {

Status check_range(Stream& stream, const char* name, const View& indices, int64_t bound) noexcept;
Status gather(Stream& stream, int dim, const View& in, const View& index, const View& out) noexcept;
Status scatter_add(Stream& stream, const Indexed& indexed, const View& source, const View& index,
                   const View& out) noexcept;
Status triangle(Stream& stream, Triangle kept, int64_t diagonal, const View& in, const View& out) noexcept;

}  // namespace halftone::cuda
