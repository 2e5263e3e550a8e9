// Cuts a convolution's output positions into blocks; each block is the columns of one matrix product. Cut by shapes
// alone, so that results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace halftone::cpu {

// Output rows [row, row + rows) of images [image, image + images): either some rows of one image, or whole images.
struct Block {
  int64_t image;
  int64_t images;
  int64_t row;
  int64_t rows;
};

class Blocks {
 public:
  // `taps`: the number of input elements that one output position reads.
  Blocks(int64_t images, int64_t rows, int64_t row_width, int64_t taps) noexcept;

  // The number of blocks of images, and of blocks of rows within each.
  int64_t image_blocks() const noexcept { return ceil_div(images_, block_images_); }
  int64_t row_blocks() const noexcept { return ceil_div(rows_, block_rows_); }
  int64_t count() const noexcept { return image_blocks() * row_blocks(); }

  Block at(int64_t image_block, int64_t row_block) const noexcept;
  int64_t columns_of(const Block& block) const noexcept { return block.images * block.rows * row_width_; }
  int64_t max_images() const noexcept { return block_images_; }
  int64_t max_columns() const noexcept { return block_images_ * block_rows_ * row_width_; }

  // Calls f(block) for one block of every size that occurs: the usual size, and the sizes at the ends.
  template <class F>
  void for_each_size(F&& f) const {
    if (images_ == 0) return;
    for (const int64_t image_block : {int64_t{0}, image_blocks() - 1}) {
      for (const int64_t row_block : {int64_t{0}, row_blocks() - 1}) f(at(image_block, row_block));
    }
  }

 private:
  static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

  int64_t images_;
  int64_t rows_;
  int64_t row_width_;
  int64_t block_images_ = 1;
  int64_t block_rows_;
};

}  // namespace halftone::cpu
