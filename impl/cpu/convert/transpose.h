// Copies between layouts whose fastest dimensions differ, such as a transposed matrix into a contiguous one. A copy
// element by element would touch a cache line for each element; here small square blocks are copied, so that every line
// is read and written once.
#pragma once

#include "backend/view.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

class Transpose {
 public:
  // REQUIRES: equal shapes and dtypes; the output overlaps neither itself nor the input.
  Transpose(const View& in, const View& out) noexcept;

  // True if there are two such dimensions, each at least one block long.
  bool applies() const noexcept { return applies_; }
  // REQUIRES: applies()
  void run(ThreadPool& pool) const noexcept;

 private:
  struct Dimension {
    int64_t size;
    int64_t in_stride;
    int64_t out_stride;
  };
  struct Block {
    const std::byte* in;
    std::byte* out;
    int64_t rows;     // along the input's fastest dimension
    int64_t columns;  // along the output's
  };

  void add_dimension(const Dimension& dimension) noexcept;
  // A block's row is one cache line.
  int64_t side() const noexcept { return 64 / static_cast<int64_t>(size_); }
  Block block_at(int64_t index) const noexcept;
  template <class Word>
  void copy_block(const Block& block) const noexcept;

  const std::byte* in_;
  std::byte* out_;
  size_t size_;  // of an element in bytes
  bool applies_ = false;
  int outer_count_ = 0;
  Dimension outer_[kMaxRank];
  Dimension row_ = {0, 0, 0};     // in_stride 1
  Dimension column_ = {0, 0, 0};  // out_stride 1
};

}  // namespace halftone::cpu
