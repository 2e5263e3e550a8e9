// The three passes of a convolution, each a sum of matrix products over blocks of output positions. Work that can run
// in parallel is a unit. A unit's products run on its thread; if there is only one unit, its products use the whole
// pool.
#pragma once

#include <utility>

#include "backend/device.h"
#include "cpu/conv/operands.h"
#include "cpu/gemm/gemm.h"

namespace halftone::cpu {

// Scratch of a pass: memory shared by all threads, then each thread's block matrices and product scratch.
struct ConvScratch {
  size_t shared = 0;  // at the beginning
  size_t per_thread = 0;
  int64_t units = 0;

  Threads threads() const { return units == 1 ? Threads::kPool : Threads::kCaller; }
  size_t total(ThreadPool& pool) const {
    const size_t threads = units == 1 ? 1 : static_cast<size_t>(pool.width());
    return shared + threads * per_thread;
  }
};

constexpr size_t in_cache_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Calls f(unit, memory) for every unit; `memory` belongs to the running thread.
template <class F>
void for_each_unit(ThreadPool& pool, const ConvScratch& scratch, void* workspace, F&& f) noexcept {
  pool.parallel_for(scratch.units, [&](int64_t unit, int worker) {
    const size_t mine = scratch.units == 1 ? 0 : static_cast<size_t>(worker) * scratch.per_thread;
    f(unit, at_offset(workspace, scratch.shared + mine));
  });
}

// A bias (a vector with one element per row) as a residual that repeats along `like`'s columns: this way it is added
// before the only rounding.
inline View row_bias(const View& bias, int64_t first, const View& like) {
  if (bias.data == nullptr) return {};
  const size_t offset = static_cast<size_t>(first * bias.strides[0]) * size_of(bias.dtype);
  return {
      .data = at_offset(bias.data, offset), .dtype = bias.dtype, .shape = like.shape, .strides = {bias.strides[0], 0}};
}

inline View transposed(const View& matrix) {
  View view = matrix;
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

// output [filters, columns] = weights [filters, taps] * input [taps, columns]
size_t conv_forward_workspace(Stream& stream, const Operands& operands) noexcept;
void conv_forward(Stream& stream, const Operands& operands, void* workspace) noexcept;

// gradient of input [taps, columns] = weights^T [taps, filters] * output [filters, columns]; each column is then added
// to the elements it came from
size_t conv_grad_input_workspace(Stream& stream, const Operands& operands) noexcept;
void conv_grad_input(Stream& stream, const Operands& operands, void* workspace) noexcept;

// gradient of weights^T [taps, filters] = input [taps, columns] * output^T [columns, filters], summed over all blocks
size_t conv_grad_weight_workspace(Stream& stream, const Operands& operands) noexcept;
Status conv_grad_weight(Stream& stream, const Operands& operands, void* workspace) noexcept;

}  // namespace halftone::cpu
