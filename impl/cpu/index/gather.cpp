// Picks elements by index: the forward pass of embedding and gather, and batches of a data set.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/device.h"
#include "cpu/index/entries.h"
#include "cpu/index/lines.h"
#include "cpu/simd/ranges.h"

namespace halftone::cpu {

namespace {

// Row (o, i) of the output has `inner` elements; each is from column j of a row in the input's block o.
struct Pick {
  Lines in, out;
  const std::byte* from;
  std::byte* to;
  const int64_t* index;
  bool by_row;  // the index is one vector: copy whole rows
};

void copy_rows(const Pick& pick, int64_t size, int64_t begin, int64_t end) {
  const int64_t bytes = pick.out.inner * size;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t picked = row / pick.out.size * pick.in.size + pick.index[row % pick.out.size];
    std::memcpy(pick.to + row * bytes, pick.from + picked * bytes, static_cast<size_t>(bytes));
  }
}

template <class Word>
void copy_elements(const Pick& pick, int64_t begin, int64_t end) {
  const int64_t inner = pick.out.inner;
  const auto* from = reinterpret_cast<const Word*>(pick.from);
  auto* to = reinterpret_cast<Word*>(pick.to);
  for (int64_t row = begin; row < end; ++row) {
    const Word* block = from + row / pick.out.size * pick.in.size * inner;
    const int64_t* index = pick.index + (pick.by_row ? row % pick.out.size : row * inner);
    for (int64_t j = 0; j < inner; ++j) to[row * inner + j] = block[index[j] * inner + j];
  }
}

}  // namespace

Status gather(Stream& stream, int dim, const View& in, const View& index, const View& out) noexcept {
  if (out.numel() == 0) return {};
  const Pick pick = {.in = Lines(in, dim),
                     .out = Lines(out, dim),
                     .from = static_cast<const std::byte*>(in.data),
                     .to = static_cast<std::byte*>(out.data),
                     .index = static_cast<const int64_t*>(index.data),
                     .by_row = index.rank() == 1};
  const int64_t size = static_cast<int64_t>(size_of(in.dtype));
  const int64_t grain = std::max<int64_t>(1, kChunkSize / pick.out.inner);
  for_each_range(pool_of(stream), pick.out.outer * pick.out.size, grain, [&](int64_t begin, int64_t end) {
    if (pick.by_row && pick.out.inner > 1) return copy_rows(pick, size, begin, end);
    if (size == 1) copy_elements<uint8_t>(pick, begin, end);
    if (size == 2) copy_elements<uint16_t>(pick, begin, end);
    if (size == 4) copy_elements<uint32_t>(pick, begin, end);
    if (size == 8) copy_elements<uint64_t>(pick, begin, end);
  });
  return {};
}

}  // namespace halftone::cpu
