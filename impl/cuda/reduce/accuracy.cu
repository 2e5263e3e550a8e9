#include <limits>

#include "cuda/base/block.h"
#include "cuda/base/element.h"
#include "cuda/base/launch.h"
#include "cuda/reduce/entries.h"

namespace halftone::cuda {
namespace {

// Blocks that count; each leaves its count in the stream's scratch.
constexpr int64_t kMostBlocks = 1024;

struct Rows {
  Elements logits;
  int64_t row_stride;
  int64_t class_stride;
  int64_t count;
  int64_t classes;
  const int64_t* targets;
  int64_t target_stride;
};

// An entry and its index. The larger entry comes first, NaN before all others, and the first of equals.
template <class C>
struct Entry {
  C value;
  int64_t index;
  HALFTONE_DEVICE bool comes_before(const Entry& other) const {
    const bool is_nan = value != value;
    const bool other_is_nan = other.value != other.value;
    if (is_nan != other_is_nan) return is_nan;
    if (!is_nan && value != other.value) return value > other.value;
    return index < other.index;
  }
};

// On every lane the index of the row's first largest entry.
template <class C>
HALFTONE_DEVICE int64_t index_of_largest(const Rows& rows, int64_t row, int lane) {
  Entry<C> first = {-std::numeric_limits<C>::infinity(), std::numeric_limits<int64_t>::max()};
  for (int64_t i = lane; i < rows.classes; i += kWarp) {
    const Entry<C> entry = {load<C>(rows.logits, row * rows.row_stride + i * rows.class_stride), i};
    if (entry.comes_before(first)) first = entry;
  }
  for (int bits = kWarp / 2; bits > 0; bits /= 2) {
    const Entry<C> other = {__shfl_xor_sync(kAllLanes, first.value, bits),
                            __shfl_xor_sync(kAllLanes, first.index, bits)};
    if (other.comes_before(first)) first = other;
  }
  return first.index;
}

// A warp takes a row.
template <class C>
HALFTONE_KERNEL count_hits(Rows rows, Fault* word, Fault fault, int64_t* counts) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int64_t hits = 0;
  for (int64_t row = first_item() / kWarp; row < rows.count; row += item_step() / kWarp) {
    const int64_t target = rows.targets[row * rows.target_stride];
    if (lane == 0 && (target < 0 || target >= rows.classes)) report(word, fault, row, target);
    const int64_t index = index_of_largest<C>(rows, row, lane);
    if (lane == 0 && index == target) ++hits;
  }
  hits = sum_block(hits);
  if (threadIdx.x == 0) counts[blockIdx.x] = hits;
}

HALFTONE_KERNEL store_share(const int64_t* counts, int64_t blocks, int64_t rows, float* out) {
  int64_t hits = 0;
  for (int64_t i = threadIdx.x; i < blocks; i += blockDim.x) hits += counts[i];
  hits = sum_block(hits);
  if (threadIdx.x == 0) *out = static_cast<float>(static_cast<double>(hits) / static_cast<double>(rows));
}

}  // namespace

Status accuracy(Stream& stream, const View& logits, const View& targets, const View& out) noexcept {
  const Rows rows = {.logits = {logits.data, logits.dtype},
                     .row_stride = logits.strides[0],
                     .class_stride = logits.strides[1],
                     .count = logits.shape[0],
                     .classes = logits.shape[1],
                     .targets = static_cast<const int64_t*>(targets.data),
                     .target_stride = targets.strides[0]};
  const Fault fault = possible_fault(FaultKind::kIndex, "targets", targets.shape, rows.classes);
  constexpr int64_t kRowsPerBlock = kThreads / kWarp;
  const int64_t blocks = std::min((rows.count + kRowsPerBlock - 1) / kRowsPerBlock, kMostBlocks);
  auto* const counts = reinterpret_cast<int64_t*>(scratch_of(stream));
  const Status status = with_float_type(logits.dtype, [&]<class C>() {
    return launch(stream, {.blocks = blocks}, count_hits<C>, rows, device_of(stream).fault, fault, counts);
  });
  if (!status.ok()) return status;
  return launch(stream, {}, store_share, counts, blocks, rows.count, static_cast<float*>(out.data));
}

}  // namespace halftone::cuda
