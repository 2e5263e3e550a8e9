#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/rotary.cpp"
// Rotary position embedding. Angles, sines and cosines are computed in double, once for rows of equal positions that
// follow each other: usually those of all heads and batches.
#include <algorithm>
#include <cmath>

#include "cpu/attention/entries.h"
#include "cpu/attention/places.h"
#include "cpu/device.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kPairs = 64;  // rotated at a time

// The pairs from `first` on: their sines and cosines for one position, and their rotation.
template <class C>
class PairBlock {
 public:
  PairBlock(const Rotary& rotary, int64_t depth, int64_t first)
      : rotary_(rotary), pairs_(depth / 2), first_(first), count_(std::min(kPairs, pairs_ - first)) {
    for (int64_t i = 0; i < count_; ++i) {
      rates_[i] = std::pow(rotary.base, -static_cast<double>(first + i) / static_cast<double>(pairs_));
    }
  }

  void rotate(int64_t position, const View& x, const View& out, int64_t row) {
    if (!has_table_ || position != position_) fill_table(position);
    if (rotary_.is_interleaved) {
      rotate_interleaved(row_at(x, row, 2 * first_), row_at(out, row, 2 * first_));
    } else {
      rotate_halves(x, out, row);
    }
  }

 private:
  void fill_table(int64_t position) {
    for (int64_t i = 0; i < count_; ++i) {
      const double angle = static_cast<double>(position) * rates_[i];
      cosines_[i] = static_cast<C>(std::cos(angle));
      sines_[i] = static_cast<C>(rotary_.is_inverse ? -std::sin(angle) : std::sin(angle));
    }
    position_ = position;
    has_table_ = true;
  }

  void rotate_halves(const View& x, const View& out, int64_t row) {
    alignas(64) C a[kPairs];
    alignas(64) C b[kPairs];
    load_tile(row_at(x, row, first_), count_, a);
    load_tile(row_at(x, row, pairs_ + first_), count_, b);
    for (int64_t i = 0; i < count_; ++i) {
      const C old = a[i];
      a[i] = old * cosines_[i] - b[i] * sines_[i];
      b[i] = b[i] * cosines_[i] + old * sines_[i];
    }
    store_tile(a, count_, row_at(out, row, first_));
    store_tile(b, count_, row_at(out, row, pairs_ + first_));
  }

  void rotate_interleaved(const Strided& x, const Strided& out) {
    alignas(64) C both[2 * kPairs];
    load_tile(x, 2 * count_, both);
    for (int64_t i = 0; i < count_; ++i) {
      const C a = both[2 * i];
      const C b = both[2 * i + 1];
      both[2 * i] = a * cosines_[i] - b * sines_[i];
      both[2 * i + 1] = b * cosines_[i] + a * sines_[i];
    }
    store_tile(both, 2 * count_, out);
  }

  const Rotary& rotary_;
  int64_t pairs_;
  int64_t first_;
  int64_t count_;
  bool has_table_ = false;
  int64_t position_ = 0;
  double rates_[kPairs];
  alignas(64) C cosines_[kPairs];
  alignas(64) C sines_[kPairs];
};

// A tensor of at least two dimensions as matrices: its leading dimensions count in row-major order.
View matrix_of(const View& view, int64_t index) {
  const int last = view.rank() - 1;
  int64_t offset = 0;
  for (int i = last - 2; i >= 0; --i) {
    offset += index % view.shape[i] * view.strides[i];
    index /= view.shape[i];
  }
  return {.data = static_cast<std::byte*>(view.data) + offset * static_cast<int64_t>(size_of(view.dtype)),
          .dtype = view.dtype,
          .shape = {view.shape[last - 1], view.shape[last]},
          .strides = {view.strides[last - 1], view.strides[last]}};
}

int64_t position_of(const View& positions, int64_t row_number, int64_t offset, int64_t row) {
  if (positions.data == nullptr) return offset + row;
  int64_t place = 0;
  for (int i = positions.rank() - 1; i >= 0; --i) {
    place += row_number % positions.shape[i] * positions.strides[i];
    row_number /= positions.shape[i];
  }
  return static_cast<const int64_t*>(positions.data)[place];
}

template <class C>
void rotate_rows(const Rotary& rotary, const View& x, const View& positions, const View& out, int64_t begin,
                 int64_t end) {
  const int64_t rows = x.shape[x.rank() - 2];
  const int64_t depth = x.shape[x.rank() - 1];
  const int64_t matrices = x.numel() / (rows * depth);
  for (int64_t first = 0; first < depth / 2; first += kPairs) {
    PairBlock<C> block(rotary, depth, first);
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < matrices; ++i) {
        block.rotate(position_of(positions, i * rows + row, rotary.offset, row), matrix_of(x, i), matrix_of(out, i),
                     row);
      }
    }
  }
}

void rotate_all(ThreadPool& pool, const Rotary& rotary, const View& x, const View& positions, const View& out) {
  const int64_t rows = x.shape[x.rank() - 2];
  for_each_range(pool, rows, std::max<int64_t>(kChunkSize * rows / x.numel(), 1), [&](int64_t begin, int64_t end) {
    if (x.dtype == DType::kF64) return rotate_rows<double>(rotary, x, positions, out, begin, end);
    rotate_rows<float>(rotary, x, positions, out, begin, end);
  });
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(rotate_all);

Status rotate(Stream& stream, const Rotary& rotary, const View& x, const View& positions, const View& out) noexcept {
  if (x.numel() > 0) HWY_DYNAMIC_DISPATCH(rotate_all)(pool_of(stream), rotary, x, positions, out);
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
