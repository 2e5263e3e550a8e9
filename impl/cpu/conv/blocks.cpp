#include "cpu/conv/blocks.h"

#include <algorithm>

namespace halftone::cpu {
namespace {

// A block's patches should stay in L2: at most 512 KiB of FP32.
constexpr int64_t kPatchElements = int64_t{1} << 17;
// With fewer columns a product reads its weights too often for the arithmetic it does with them.
constexpr int64_t kMinColumns = 192;

}  // namespace

Blocks::Blocks(int64_t images, int64_t rows, int64_t row_width, int64_t taps) noexcept
    : images_(images), rows_(rows), row_width_(row_width), block_rows_(rows) {
  const int64_t wanted = std::max(kPatchElements / taps, kMinColumns);
  const int64_t image_columns = rows * row_width;
  if (image_columns > wanted) {
    const int64_t pieces = std::min(ceil_div(image_columns, wanted), rows);
    block_rows_ = ceil_div(rows, pieces);
  } else if (image_columns < kMinColumns && images > 1) {
    const int64_t pieces = ceil_div(images, ceil_div(kMinColumns, image_columns));
    block_images_ = ceil_div(images, pieces);
  }
}

Block Blocks::at(int64_t image_block, int64_t row_block) const noexcept {
  const int64_t image = image_block * block_images_;
  const int64_t row = row_block * block_rows_;
  return {image, std::min(block_images_, images_ - image), row, std::min(block_rows_, rows_ - row)};
}

}  // namespace halftone::cpu
