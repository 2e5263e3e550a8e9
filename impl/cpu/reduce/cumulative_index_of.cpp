// The indices of running maxima and minima. A block of columns goes along the dimension together, so that rows of
// memory are read in order.
#include <algorithm>

#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/index/lines.h"
#include "cpu/reduce/entries.h"
#include "cpu/simd/ranges.h"

namespace halftone::cpu {

namespace {

constexpr int64_t kColumns = 64;

// True if `next` is the largest or smallest so far. A NaN stays until another one follows.
template <class C>
bool takes_over(MinMax which, C next, C best) {
  if (next != next) return true;
  return which == MinMax::kMax ? next >= best : next <= best;
}

// `from` and `to` begin at the first element of the block's first column.
template <class C, class T>
void run_columns(MinMax which, const Lines& lines, int64_t columns, const T* from, int64_t* to) {
  C best[kColumns];
  int64_t at[kColumns];
  for (int64_t j = 0; j < columns; ++j) {
    best[j] = static_cast<C>(from[j]);
    at[j] = 0;
  }
  for (int64_t i = 0; i < lines.size; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const C next = static_cast<C>(from[i * lines.inner + j]);
      if (takes_over(which, next, best[j])) {
        best[j] = next;
        at[j] = i;
      }
      to[i * lines.inner + j] = at[j];
    }
  }
}

// Narrow floats are compared as FP32.
template <class T>
using Compared = std::conditional_t<std::is_class_v<T>, float, T>;

}  // namespace

Status cumulative_index_of(Stream& stream, MinMax which, const View& in, int dim, const View& out) noexcept {
  if (in.numel() == 0) return {};
  const Lines lines(in, dim);
  const int64_t blocks = (lines.inner + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kChunkSize / (lines.size * std::min(kColumns, lines.inner)));
  using Types = TypeList<double, float, Float16, BFloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, bool>;
  const bool known = try_visit_dtype(Types{}, in.dtype, [&]<class T>() {
    for_each_range(pool_of(stream), lines.outer * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % blocks * kColumns;
        const int64_t offset = i / blocks * lines.size * lines.inner + column;
        run_columns<Compared<T>>(which, lines, std::min(kColumns, lines.inner - column),
                                 static_cast<const T*>(in.data) + offset, static_cast<int64_t*>(out.data) + offset);
      }
    });
  });
  if (known) return {};
  return Status::failure(Code::kUnsupported, "cumulative_index_of has no kernel for %s", name_of(in.dtype));
}

}  // namespace halftone::cpu
