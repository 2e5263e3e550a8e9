// The order of lines, by a stable merge sort of indices: in each pass, every index finds its place in the merged run by
// itself, from its place in its own run and the number of indices of the neighbouring run that come before it.
#include <utility>

#include "cuda/base/element.h"
#include "cuda/base/launch.h"
#include "cuda/base/places.h"
#include "cuda/select/entries.h"
#include "cuda/select/less.h"

namespace halftone::cuda {
namespace {

// Lines of equal length along one dimension of the input.
struct Lines {
  Places<1> outer;  // of the first elements
  Elements elements;
  int64_t length;
  int64_t step;  // from one element of a line to the next
  bool descending;
};

template <class C>
struct ByElement {
  Lines lines;
  HALFTONE_DEVICE bool operator()(int64_t line, int64_t a, int64_t b) const {
    const int64_t first = offsets_at(lines.outer, line).at[0];
    const C x = load<C>(lines.elements, first + a * lines.step);
    const C y = load<C>(lines.elements, first + b * lines.step);
    return lines.descending ? is_less(y, x) : is_less(x, y);
  }
};

struct ByIndex {
  HALFTONE_DEVICE bool operator()(int64_t, int64_t a, int64_t b) const { return a < b; }
};

// How many of `count` sorted indices come before `index`; equal ones count if `equals_first`.
template <class Before>
HALFTONE_DEVICE int64_t count_before(const Before& before, int64_t line, const int64_t* run, int64_t count,
                                     int64_t index, bool equals_first) {
  int64_t low = 0;
  int64_t high = count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    const bool comes_first = equals_first ? !before(line, index, run[middle]) : before(line, run[middle], index);
    if (comes_first) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Merges runs of `width` indices, of lines that are `stride` apart. One thread for each index.
template <class Before>
HALFTONE_KERNEL merge_kernel(Before before, const int64_t* from, int64_t* to, int64_t length, int64_t stride,
                             int64_t width, int64_t count) {
  for (int64_t item = first_item(); item < count; item += item_step()) {
    const int64_t line = item / length;
    const int64_t i = item - line * length;
    const int64_t* const indices = from + line * stride;
    const int64_t begin = i / (2 * width) * (2 * width);
    const int64_t middle = begin + width < length ? begin + width : length;
    const int64_t end = begin + 2 * width < length ? begin + 2 * width : length;
    const bool is_left = i < middle;
    const int64_t passed = is_left ? count_before(before, line, indices + middle, end - middle, indices[i], false)
                                   : count_before(before, line, indices + begin, middle - begin, indices[i], true);
    const int64_t own = is_left ? i - begin : i - middle;
    to[line * stride + begin + own + passed] = indices[i];
  }
}

HALFTONE_KERNEL count_up_kernel(int64_t* indices, int64_t length, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) indices[i] = i % length;
}

// Writes the first `chosen` indices of each line to the output, where they are `step` apart.
HALFTONE_KERNEL write_kernel(const int64_t* indices, int64_t length, int64_t chosen, Places<1> outer, int64_t step,
                             int64_t* out, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t line = i / chosen;
    const int64_t place = i - line * chosen;
    out[offsets_at(outer, line).at[0] + place * step] = indices[line * length + place];
  }
}

// Two buffers of indices, which take turns.
struct Buffers {
  int64_t* from;
  int64_t* to;
};

// Sorts the first `length` indices of lines that are `stride` apart.
template <class Before>
Status sort(Stream& stream, const Before& before, int64_t length, int64_t stride, int64_t lines, Buffers& buffers) {
  const int64_t count = lines * length;
  Status status;
  for (int64_t width = 1; width < length && status.ok(); width *= 2) {
    status = launch(stream, grid_for_items(device_of(stream), count), merge_kernel<Before>, before,
                    static_cast<const int64_t*>(buffers.from), buffers.to, length, stride, width, count);
    std::swap(buffers.from, buffers.to);
  }
  return status;
}

// A view without dimension `dim`.
View without(const View& view, int dim) {
  View result = view;
  result.shape = {};
  result.strides = {};
  for (int d = 0; d < view.rank(); ++d) {
    if (d == dim) continue;
    result.shape.push_back(view.shape[d]);
    result.strides.push_back(view.strides[d]);
  }
  return result;
}

}  // namespace

size_t order_workspace(Stream&, const SortOrder&, const View& in, const View&) noexcept {
  return static_cast<size_t>(in.numel()) * 2 * sizeof(int64_t);
}

Status order(Stream& stream, const SortOrder& order, const View& in, void* workspace, const View& out) noexcept {
  if (out.numel() == 0) return {};
  const int64_t length = in.shape[order.dim];
  const int64_t chosen = out.shape[order.dim];
  const int64_t lines = in.numel() / length;
  auto* const memory = static_cast<int64_t*>(workspace);
  Buffers buffers = {memory, memory + in.numel()};
  Status status =
      launch(stream, grid_for_items(device_of(stream), in.numel()), count_up_kernel, buffers.from, length, in.numel());
  if (status.ok()) {
    status = with_compute_type(in.dtype, [&]<class C>() {
      const ByElement<C> before = {{.outer = places_of(without(in, order.dim)),
                                    .elements = {in.data, in.dtype},
                                    .length = length,
                                    .step = in.strides[order.dim],
                                    .descending = order.descending}};
      return sort(stream, before, length, length, lines, buffers);
    });
  }
  if (status.ok() && !order.sorts_chosen) status = sort(stream, ByIndex(), chosen, length, lines, buffers);
  if (!status.ok()) return status;
  return launch(stream, grid_for_items(device_of(stream), out.numel()), write_kernel,
                static_cast<const int64_t*>(buffers.from), length, chosen, places_of(without(out, order.dim)),
                out.strides[order.dim], static_cast<int64_t*>(out.data), out.numel());
}

}  // namespace halftone::cuda
