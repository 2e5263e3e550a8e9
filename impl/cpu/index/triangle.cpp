#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/device.h"
#include "cpu/index/entries.h"
#include "cpu/simd/ranges.h"

namespace halftone::cpu {

namespace {

// The columns of a row that are kept: [begin, end).
struct Columns {
  int64_t begin;
  int64_t end;
};

// The column where the diagonal crosses the row, clamped to [-1, columns]. The first test avoids overflow of row +
// diagonal.
int64_t crossing(int64_t row, int64_t diagonal, int64_t columns) {
  if (diagonal >= columns) return columns;
  return std::clamp<int64_t>(row + diagonal, -1, columns);
}

Columns kept_columns(Triangle kept, int64_t row, int64_t diagonal, int64_t columns) {
  const int64_t column = crossing(row, diagonal, columns);
  if (kept == Triangle::kLower) return {0, std::min(column + 1, columns)};
  return {std::max<int64_t>(column, 0), columns};
}

}  // namespace

// Copies and clears bytes: 0 has the bits 0 in every dtype.
Status triangle(Stream& stream, Triangle kept, int64_t diagonal, const View& in, const View& out) noexcept {
  const int64_t rows = in.shape[in.rank() - 2];
  const int64_t columns = in.shape[in.rank() - 1];
  const int64_t count = in.numel();
  if (count == 0) return {};
  const int64_t size = static_cast<int64_t>(size_of(in.dtype));
  const auto* from = static_cast<const std::byte*>(in.data);
  auto* to = static_cast<std::byte*>(out.data);
  const int64_t grain = std::max<int64_t>(1, kChunkSize / columns);
  for_each_range(pool_of(stream), count / columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto [first, last] = kept_columns(kept, i % rows, diagonal, columns);
      const std::byte* source = from + i * columns * size;
      std::byte* target = to + i * columns * size;
      std::memset(target, 0, static_cast<size_t>(first * size));
      std::memcpy(target + first * size, source + first * size, static_cast<size_t>((last - first) * size));
      std::memset(target + last * size, 0, static_cast<size_t>((columns - last) * size));
    }
  });
  return {};
}

}  // namespace halftone::cpu
