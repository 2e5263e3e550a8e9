#include "cuda/base/launch.h"
#include "cuda/index/entries.h"

namespace halftone::cuda {
namespace {

struct Matrices {
  int64_t rows;
  int64_t columns;
  int64_t diagonal;
  bool keeps_lower;
};

// column - row and the diagonal are compared without a sum that could overflow.
HALFTONE_DEVICE bool is_kept(const Matrices& matrices, int64_t row, int64_t column) {
  const int64_t place = column - row;
  return matrices.keeps_lower ? place <= matrices.diagonal : place >= matrices.diagonal;
}

// 0 has the bits 0 in every dtype.
template <class Word>
HALFTONE_KERNEL triangle_kernel(Matrices matrices, const Word* from, Word* to, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t row = i / matrices.columns;
    const bool kept = is_kept(matrices, row % matrices.rows, i - row * matrices.columns);
    to[i] = kept ? from[i] : Word{0};
  }
}

template <class Word>
Status run(Stream& stream, const Matrices& matrices, const View& in, const View& out) {
  return launch(stream, grid_for_items(device_of(stream), in.numel()), triangle_kernel<Word>, matrices,
                static_cast<const Word*>(in.data), static_cast<Word*>(out.data), in.numel());
}

}  // namespace

Status triangle(Stream& stream, Triangle kept, int64_t diagonal, const View& in, const View& out) noexcept {
  const Matrices matrices = {.rows = in.shape[in.rank() - 2],
                             .columns = in.shape[in.rank() - 1],
                             .diagonal = diagonal,
                             .keeps_lower = kept == Triangle::kLower};
  switch (size_of(in.dtype)) {
    case 1:
      return run<uint8_t>(stream, matrices, in, out);
    case 2:
      return run<uint16_t>(stream, matrices, in, out);
    case 4:
      return run<uint32_t>(stream, matrices, in, out);
    default:
      return run<uint64_t>(stream, matrices, in, out);
  }
}

}  // namespace halftone::cuda
