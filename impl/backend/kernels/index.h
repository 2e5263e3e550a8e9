// Kernels that move elements by index. Indices are i64 and contiguous; callers run check_range before they use an
// index. backend/kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

enum class Triangle : int32_t { kLower, kUpper };

// How scatter joins an element of the source with the one at its place.
enum class ScatterOp : int32_t {
  kAdd,
  kAssign,  // of several elements for one place the last one stays
  kMultiply,
  kMaximum,  // NaN if either is NaN
  kMinimum,
};

// The dimension that indices refer to, the index value to skip, and the joining of elements.
struct Indexed {
  int dim;
  int64_t ignored = -1;  // scatter skips entries with this value
  ScatterOp op = ScatterOp::kAdd;
};

struct IndexKernels {
  // Returns INVALID_ARGUMENT for the first entry outside [0, bound): "indices[1, 2]=12 is outside [0, 10)", with
  // `name`. A device that finds such an entry only later keeps it in its error word. Its gather and scatter then
  // skip entries out of range, because the caller has queued them already.
  Status (*check_range)(Stream&, const char* name, const View& indices, int64_t bound) noexcept;
  // out[..., i, ...] = in[..., index[..., i, ...], ...] along dimension `dim`. The index has out's shape, or is one
  // vector for all lines along the dimension. in and out have one dtype, equal sizes except at `dim`, and are
  // contiguous.
  // REQUIRES: entries in range, or a check_range of them before.
  Status (*gather)(Stream&, int dim, const View& in, const View& index, const View& out) noexcept;
  // out[..., index[..., i, ...], ...] += source[..., i, ...], in the order of i, or what indexed.op says in place of
  // the sum. The index has source's shape, or is one vector. source and out are both f64, f32 or i64, have equal sizes
  // except at `dim`, and are contiguous. Integers wrap around. REQUIRES: entries in range, or ignored, or a check_range
  // of them before.
  Status (*scatter)(Stream&, const Indexed&, const View& source, const View& index, const View& out) noexcept;
  // Copies each matrix of the last two dimensions where column - row is at most (kLower) or at least (kUpper)
  // `diagonal`, and writes 0 elsewhere. in and out have one shape and dtype and are contiguous.
  Status (*triangle)(Stream&, Triangle kept, int64_t diagonal, const View& in, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_INDEX_ENTRIES(X) \
  X(IndexKernels, check_range)    \
  X(IndexKernels, gather)         \
  X(IndexKernels, scatter)        \
  X(IndexKernels, triangle)

}  // namespace halftone
