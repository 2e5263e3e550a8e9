#include "cpu/convert/transpose.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/simd/ranges.h"

namespace halftone::cpu {

Transpose::Transpose(const View& in, const View& out) noexcept
    : in_(static_cast<const std::byte*>(in.data)), out_(static_cast<std::byte*>(out.data)), size_(size_of(in.dtype)) {
  for (int i = 0; i < in.rank(); ++i) {
    if (in.shape[i] != 1) add_dimension({in.shape[i], in.strides[i], out.strides[i]});
  }
  const auto take = [&](auto matches, Dimension& taken) {
    Dimension* end = outer_ + outer_count_;
    Dimension* found = std::find_if(outer_, end, [&](const Dimension& d) { return d.size >= side() && matches(d); });
    if (found == end) return false;
    taken = *found;
    std::copy(found + 1, end, found);
    --outer_count_;
    return true;
  };
  applies_ = take([](const Dimension& d) { return d.in_stride == 1 && d.out_stride != 1; }, row_) &&
             take([](const Dimension& d) { return d.out_stride == 1 && d.in_stride > 1; }, column_);
}

// Merges the dimension with the one before if both operands continue without a gap.
void Transpose::add_dimension(const Dimension& dimension) noexcept {
  if (outer_count_ > 0) {
    Dimension& last = outer_[outer_count_ - 1];
    if (last.in_stride == dimension.in_stride * dimension.size &&
        last.out_stride == dimension.out_stride * dimension.size) {
      last = {last.size * dimension.size, dimension.in_stride, dimension.out_stride};
      return;
    }
  }
  outer_[outer_count_++] = dimension;
}

Transpose::Block Transpose::block_at(int64_t index) const noexcept {
  const int64_t row_blocks = (row_.size + side() - 1) / side();
  const int64_t column_blocks = (column_.size + side() - 1) / side();
  const int64_t row = index % row_blocks * side();
  index /= row_blocks;
  const int64_t column = index % column_blocks * side();
  index /= column_blocks;
  int64_t in_offset = row + column * column_.in_stride;
  int64_t out_offset = row * row_.out_stride + column;
  for (int i = outer_count_ - 1; i >= 0; --i) {
    in_offset += index % outer_[i].size * outer_[i].in_stride;
    out_offset += index % outer_[i].size * outer_[i].out_stride;
    index /= outer_[i].size;
  }
  const int64_t bytes = static_cast<int64_t>(size_);
  return {in_ + in_offset * bytes, out_ + out_offset * bytes, std::min(side(), row_.size - row),
          std::min(side(), column_.size - column)};
}

// The buffer in L1 avoids cache conflicts: rows of a matrix whose width is a power of two share cache sets.
template <class Word>
void Transpose::copy_block(const Block& block) const noexcept {
  constexpr int64_t size = sizeof(Word);
  constexpr int64_t side = 64 / size;
  Word buffer[side][side];
  for (int64_t column = 0; column < block.columns; ++column) {
    std::memcpy(buffer[column], block.in + column * column_.in_stride * size, static_cast<size_t>(block.rows * size));
  }
  for (int64_t row = 0; row < block.rows; ++row) {
    std::byte* out = block.out + row * row_.out_stride * size;
    for (int64_t column = 0; column < block.columns; ++column) {
      std::memcpy(out + column * size, &buffer[column][row], sizeof(Word));
    }
  }
}

void Transpose::run(ThreadPool& pool) const noexcept {
  int64_t blocks = (row_.size + side() - 1) / side() * ((column_.size + side() - 1) / side());
  for (int i = 0; i < outer_count_; ++i) blocks *= outer_[i].size;
  for_each_range(pool, blocks, std::max<int64_t>(1, kChunkSize / (side() * side())), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Block block = block_at(i);
      if (size_ == 1) copy_block<uint8_t>(block);
      if (size_ == 2) copy_block<uint16_t>(block);
      if (size_ == 4) copy_block<uint32_t>(block);
      if (size_ == 8) copy_block<uint64_t>(block);
    }
  });
}

}  // namespace halftone::cpu
