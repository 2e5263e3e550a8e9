// The entries of the kernels that choose elements; select.h of the seam gives their contracts.
#pragma once

#include <cstddef>

#include "backend/kernels/select.h"

namespace halftone::cuda {

size_t order_workspace(Stream& stream, const SortOrder& order, const View& in, const View& out) noexcept;
Status order(Stream& stream, const SortOrder& order, const View& in, void* workspace, const View& out) noexcept;
size_t draw_workspace(Stream& stream, const View& weights) noexcept;
Status draw_categories(Stream& stream, const CategoryDraws& draws, const View& weights, void* workspace,
                       const View& out) noexcept;
Status nonzero(Stream& stream, const View& mask, const View& out) noexcept;

}  // namespace halftone::cuda
