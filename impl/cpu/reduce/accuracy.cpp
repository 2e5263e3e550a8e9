#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/accuracy.cpp"
#include <algorithm>
#include <limits>

#include "backend/chunks.h"
#include "cpu/device.h"
#include "cpu/index/check_range.h"
#include "cpu/reduce/entries.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Each chunk of rows has its own count; integers can be added in any order.
constexpr int64_t kMostChunks = 256;

// Returns the index of the first largest entry; NaN counts as largest.
template <class C>
int64_t index_of_largest(TileReader<C>& logits, int64_t begin, int64_t length) {
  C largest = -std::numeric_limits<C>::infinity();
  int64_t index = 0;
  for (int64_t done = 0; done < length; done += kTileSize<C>) {
    const int64_t count = std::min(kTileSize<C>, length - done);
    const C* tile = logits.read(begin + done, count);
    for (int64_t i = 0; i < count; ++i) {
      if (tile[i] <= largest) continue;
      if (tile[i] != tile[i]) return done + i;
      largest = tile[i];
      index = done + i;
    }
  }
  return index;
}

template <class C>
int64_t count_hits(const Layout& logits, int64_t classes, const View& targets, int64_t begin, int64_t end) {
  TileReader<C> reader(logits);
  const auto* target = static_cast<const int64_t*>(targets.data);
  int64_t hits = 0;
  for (int64_t row = begin; row < end; ++row) {
    hits += index_of_largest(reader, row * classes, classes) == target[row * targets.strides[0]] ? 1 : 0;
  }
  return hits;
}

}  // namespace

int64_t count_all_hits(ThreadPool& pool, const View& logits, const View& targets) {
  const int64_t rows = logits.shape[0];
  const int64_t classes = logits.shape[1];
  const int64_t step = std::max((rows + kMostChunks - 1) / kMostChunks, 1 + kChunkSize / std::max<int64_t>(1, classes));
  const int64_t chunks = (rows + step - 1) / step;
  const Layout layout(logits);
  int64_t hits[kMostChunks];
  pool.parallel_for(chunks, [&](int64_t chunk, int) {
    const int64_t end = std::min((chunk + 1) * step, rows);
    hits[chunk] = logits.dtype == DType::kF64 ? count_hits<double>(layout, classes, targets, chunk * step, end)
                                              : count_hits<float>(layout, classes, targets, chunk * step, end);
  });
  int64_t total = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) total += hits[chunk];
  return total;
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(count_all_hits);

Status accuracy(Stream& stream, const View& logits, const View& targets, const View& out) noexcept {
  const Status status = check_range("targets", targets, logits.shape[1]);
  if (!status.ok()) return status;
  const int64_t rows = logits.shape[0];
  auto* share = static_cast<float*>(out.data);
  if (rows == 0) {
    *share = std::numeric_limits<float>::quiet_NaN();
    return {};
  }
  const int64_t hits = HWY_DYNAMIC_DISPATCH(count_all_hits)(pool_of(stream), logits, targets);
  *share = static_cast<float>(static_cast<double>(hits) / static_cast<double>(rows));
  return {};
}

}  // namespace halftone::cpu
#endif
