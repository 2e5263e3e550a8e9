// Kernels that move elements by index. Indices are i64 and contiguous; check_range runs before anything is made of
// them. The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

enum class Triangle : int32_t { kLower, kUpper };

// What an index is looked up in.
struct Indexed {
  int dim;
  int64_t ignored = -1;  // scatter_add passes over entries of this value
};

struct IndexKernels {
  // INVALID_ARGUMENT "indices[1, 2]=12 is outside [0, 10)" for the first entry outside [0, bound), under this name.
  Status (*check_range)(Stream&, const char* name, const View& indices, int64_t bound) noexcept;
  // out[..., i, ...] = in[..., index[..., i, ...], ...] along dimension `dim`. The index has out's shape, or is one
  // vector for all lines along the dimension. in and out have one dtype, differ in no other size and are contiguous.
  // REQUIRES: entries in range.
  Status (*gather)(Stream&, int dim, const View& in, const View& index, const View& out) noexcept;
  // out[..., index[..., i, ...], ...] += source[..., i, ...], in the order of i. The index has source's shape, or is
  // one vector. source and out are both f64, f32 or i64, differ in no other size and are contiguous. REQUIRES: entries
  // in range, or ignored.
  Status (*scatter_add)(Stream&, const Indexed&, const View& source, const View& index, const View& out) noexcept;
  // out = in where column - row is at most (kLower) or at least (kUpper) `diagonal`, else 0, for every matrix of the
  // last two dimensions. in and out have one shape and dtype and are contiguous.
  Status (*triangle)(Stream&, Triangle kept, int64_t diagonal, const View& in, const View& out) noexcept;
};

}  // namespace halftone
