#include "core/error.h"
#include "ops/image/image.h"
#include "ops/shape/clone.h"

namespace halftone::ops {

namespace {

// Images [..., c, h, w] of any number of leading dimensions.
struct Images {
  int64_t count = 1;
  int64_t channels, height, width;

  explicit Images(const Tensor& input) {
    const int rank = input.rank();
    if (rank < 3) {
      fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected at least 3",
           ShapeText(input.shape()).text, rank);
    }
    for (int i = 0; i < rank - 3; ++i) count *= input.size(i);
    channels = input.size(rank - 3);
    height = input.size(rank - 2);
    width = input.size(rank - 1);
  }
};

Shape with_image(const Tensor& input, int64_t channels, int64_t height, int64_t width, const char* argument) {
  Shape shape(input.shape().begin(), input.rank() - 3);
  for (const int64_t size : {channels, height, width}) shape.push_back(size);
  return checked_shape(shape.begin(), shape.rank(), argument);
}

void require_divisible(const Tensor& input, int64_t size, int64_t divisor, const char* what) {
  if (size % divisor == 0) return;
  fail(Code::kShapeMismatch, "input", "the %s of input %s are not a multiple of %lld", what,
       ShapeText(input.shape()).text, static_cast<long long>(divisor));
}

// factor^2, if the product fits 64 bits.
int64_t square_of(int64_t factor, const char* argument) {
  int64_t square = 0;
  if (!__builtin_mul_overflow(factor, factor, &square)) return square;
  fail(Code::kInvalidArgument, argument, "%s=%lld has a square beyond 64 bits", argument,
       static_cast<long long>(factor));
}

}  // namespace

Tensor pixel_shuffle(const Tensor& input, int64_t factor) {
  const Images images(input);
  const int64_t square = square_of(factor, "upscale_factor");
  require_divisible(input, images.channels, square, "channels");
  const int64_t channels = images.channels / square;
  const Shape shape = with_image(input, channels, images.height * factor, images.width * factor, "upscale_factor");
  const Tensor parts = reshape(input, {images.count, channels, factor, factor, images.height, images.width});
  return row_major(reshape(permute(parts, {0, 1, 4, 2, 5, 3}), shape));
}

Tensor pixel_unshuffle(const Tensor& input, int64_t factor) {
  const Images images(input);
  const int64_t square = square_of(factor, "downscale_factor");
  require_divisible(input, images.height, factor, "rows");
  require_divisible(input, images.width, factor, "columns");
  const int64_t height = images.height / factor, width = images.width / factor;
  int64_t channels = 0;
  if (__builtin_mul_overflow(images.channels, square, &channels)) channels = -1;
  const Shape shape = with_image(input, channels, height, width, "downscale_factor");
  const Tensor parts = reshape(input, {images.count, images.channels, height, factor, width, factor});
  return row_major(reshape(permute(parts, {0, 1, 3, 5, 2, 4}), shape));
}

}  // namespace halftone::ops
