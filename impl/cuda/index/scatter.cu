// Joins elements with those at the places that an index names, in the order of the index and without atomic operations:
// the first entry with an index joins all entries that have the same one. Finding them reads the index again, n^2
// entries in all, which the L2 cache serves.
#include "core/type_list.h"
#include "cuda/base/launch.h"
#include "cuda/index/entries.h"
#include "cuda/index/lines.h"

namespace halftone::cuda {
namespace {

struct Targets {
  Lines source;
  int64_t out_size;
  const int64_t* index;
  int64_t ignored;
  ScatterOp op;
};

HALFTONE_DEVICE bool is_target(const Targets& targets, int64_t place) {
  return place >= 0 && place < targets.out_size && place != targets.ignored;
}

// Sums and products of integers wrap around on overflow.
template <class T>
HALFTONE_DEVICE T joined(ScatterOp op, T old, T next) {
  using Ring = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  switch (op) {
    case ScatterOp::kAdd:
      return static_cast<T>(static_cast<Ring>(old) + static_cast<Ring>(next));
    case ScatterOp::kMultiply:
      return static_cast<T>(static_cast<Ring>(old) * static_cast<Ring>(next));
    case ScatterOp::kMaximum:
      return old != old || old > next ? old : next;
    case ScatterOp::kMinimum:
      return old != old || old < next ? old : next;
    default:
      return next;
  }
}

// One thread for each entry. `step` is the distance of the entries of a column in the index.
template <class T>
HALFTONE_DEVICE void join_column(const Targets& targets, const T* source, T* out, const int64_t* index, int64_t step,
                                 int64_t i) {
  const int64_t place = index[i * step];
  if (!is_target(targets, place)) return;
  for (int64_t k = 0; k < i; ++k) {
    if (index[k * step] == place) return;  // an earlier entry joins this one
  }
  T result = out[place * targets.source.inner];
  for (int64_t k = i; k < targets.source.size; ++k) {
    if (index[k * step] == place) result = joined(targets.op, result, source[k * targets.source.inner]);
  }
  out[place * targets.source.inner] = result;
}

template <class T>
HALFTONE_KERNEL join_elements_kernel(Targets targets, const T* source, T* out, bool by_row, int64_t count) {
  const Lines& lines = targets.source;
  for (int64_t item = first_item(); item < count; item += item_step()) {
    const int64_t column = item % lines.inner;
    const int64_t i = item / lines.inner % lines.size;
    const int64_t block = item / lines.inner / lines.size;
    const T* from = source + block * lines.size * lines.inner + column;
    T* to = out + block * targets.out_size * lines.inner + column;
    if (by_row) {
      join_column(targets, from, to, targets.index, int64_t{1}, i);
    } else {
      join_column(targets, from, to, targets.index + block * lines.size * lines.inner + column, lines.inner, i);
    }
  }
}

// True on all lanes if an entry before `i` is `place`.
HALFTONE_DEVICE bool has_earlier(const int64_t* index, int64_t i, int64_t place, int lane) {
  for (int64_t begin = 0; begin < i; begin += kWarp) {
    const bool is_equal = begin + lane < i && index[begin + lane] == place;
    if (__any_sync(kAllLanes, is_equal)) return true;
  }
  return false;
}

// Joins row k of the source with the row of the output; the lanes share the columns.
template <class T>
HALFTONE_DEVICE void join_row(ScatterOp op, const T* from, T* to, int64_t inner, int lane) {
  for (int64_t j = lane; j < inner; j += kWarp) to[j] = joined(op, to[j], from[j]);
}

// One warp for each row of the source.
template <class T>
HALFTONE_KERNEL join_rows_kernel(Targets targets, const T* source, T* out) {
  const Lines& lines = targets.source;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warps = item_step() / kWarp;
  for (int64_t row = first_item() / kWarp; row < lines.outer * lines.size; row += warps) {
    const int64_t i = row % lines.size;
    const int64_t block = row / lines.size;
    const int64_t place = targets.index[i];
    if (!is_target(targets, place) || has_earlier(targets.index, i, place, lane)) continue;
    T* const to = out + (block * targets.out_size + place) * lines.inner;
    for (int64_t begin = i / kWarp * kWarp; begin < lines.size; begin += kWarp) {
      const int64_t k = begin + lane;
      unsigned equal = __ballot_sync(kAllLanes, k >= i && k < lines.size && targets.index[k] == place);
      for (; equal != 0; equal &= equal - 1) {
        const int64_t next = begin + __ffs(static_cast<int>(equal)) - 1;
        join_row(targets.op, source + (block * lines.size + next) * lines.inner, to, lines.inner, lane);
      }
    }
  }
}

template <class T>
Status run(Stream& stream, const Targets& targets, const View& source, bool by_row, const View& out) {
  const Lines& lines = targets.source;
  const auto* from = static_cast<const T*>(source.data);
  auto* to = static_cast<T*>(out.data);
  const int64_t rows = lines.outer * lines.size;
  if (by_row && lines.inner >= kWarp) {
    return launch(stream, grid_for_items(device_of(stream), rows * kWarp), join_rows_kernel<T>, targets, from, to);
  }
  const int64_t count = rows * lines.inner;
  return launch(stream, grid_for_items(device_of(stream), count), join_elements_kernel<T>, targets, from, to, by_row,
                count);
}

}  // namespace

Status scatter(Stream& stream, const Indexed& indexed, const View& source, const View& index,
               const View& out) noexcept {
  if (source.numel() == 0 || out.numel() == 0) return {};
  const Targets targets = {.source = lines_of(source, indexed.dim),
                           .out_size = out.shape[indexed.dim],
                           .index = static_cast<const int64_t*>(index.data),
                           .ignored = indexed.ignored,
                           .op = indexed.op};
  Status status = Status::failure(Code::kUnsupported, "scatter has no kernel for %s", name_of(out.dtype));
  try_visit_dtype(TypeList<double, float, int64_t>{}, out.dtype,
                  [&]<class T>() { status = run<T>(stream, targets, source, index.rank() == 1, out); });
  return status;
}

}  // namespace halftone::cuda
