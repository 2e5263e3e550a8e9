// Adds elements to the places that an index names, in the order of the index and without atomic additions: the first
// entry with an index adds all entries that have the same one. Finding them reads the index again, n^2 entries in all,
// which the L2 cache serves.
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
};

HALFTONE_DEVICE bool is_target(const Targets& targets, int64_t place) {
  return place >= 0 && place < targets.out_size && place != targets.ignored;
}

// Integers wrap around on overflow.
template <class T>
HALFTONE_DEVICE T added(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

// One thread for each entry. `step` is the distance of the entries of a column in the index.
template <class T>
HALFTONE_DEVICE void add_column(const Targets& targets, const T* source, T* out, const int64_t* index, int64_t step,
                                int64_t i) {
  const int64_t place = index[i * step];
  if (!is_target(targets, place)) return;
  for (int64_t k = 0; k < i; ++k) {
    if (index[k * step] == place) return;  // an earlier entry adds this one
  }
  T sum = out[place * targets.source.inner];
  for (int64_t k = i; k < targets.source.size; ++k) {
    if (index[k * step] == place) sum = added(sum, source[k * targets.source.inner]);
  }
  out[place * targets.source.inner] = sum;
}

template <class T>
HALFTONE_KERNEL add_elements_kernel(Targets targets, const T* source, T* out, bool by_row, int64_t count) {
  const Lines& lines = targets.source;
  for (int64_t item = first_item(); item < count; item += item_step()) {
    const int64_t column = item % lines.inner;
    const int64_t i = item / lines.inner % lines.size;
    const int64_t block = item / lines.inner / lines.size;
    const T* from = source + block * lines.size * lines.inner + column;
    T* to = out + block * targets.out_size * lines.inner + column;
    if (by_row) {
      add_column(targets, from, to, targets.index, int64_t{1}, i);
    } else {
      add_column(targets, from, to, targets.index + block * lines.size * lines.inner + column, lines.inner, i);
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

// Adds row k of the source to the row of the output; the lanes share the columns.
template <class T>
HALFTONE_DEVICE void add_row(const T* from, T* to, int64_t inner, int lane) {
  for (int64_t j = lane; j < inner; j += kWarp) to[j] = added(to[j], from[j]);
}

// One warp for each row of the source.
template <class T>
HALFTONE_KERNEL add_rows_kernel(Targets targets, const T* source, T* out) {
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
        add_row(source + (block * lines.size + next) * lines.inner, to, lines.inner, lane);
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
    return launch(stream, grid_for_items(device_of(stream), rows * kWarp), add_rows_kernel<T>, targets, from, to);
  }
  const int64_t count = rows * lines.inner;
  return launch(stream, grid_for_items(device_of(stream), count), add_elements_kernel<T>, targets, from, to, by_row,
                count);
}

}  // namespace

Status scatter_add(Stream& stream, const Indexed& indexed, const View& source, const View& index,
                   const View& out) noexcept {
  if (source.numel() == 0 || out.numel() == 0) return {};
  const Targets targets = {.source = lines_of(source, indexed.dim),
                           .out_size = out.shape[indexed.dim],
                           .index = static_cast<const int64_t*>(index.data),
                           .ignored = indexed.ignored};
  Status status = Status::failure(Code::kUnsupported, "scatter_add has no kernel for %s", name_of(out.dtype));
  try_visit_dtype(TypeList<double, float, int64_t>{}, out.dtype,
                  [&]<class T>() { status = run<T>(stream, targets, source, index.rank() == 1, out); });
  return status;
}

}  // namespace halftone::cuda
