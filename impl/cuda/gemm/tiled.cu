#include "cuda/gemm/product.h"
#include "cuda/gemm/tiled.h"
#include "cuda/launch.h"

namespace halftone::cuda {
namespace {

// A thread computes kPart x kPart elements of c, kApart rows and columns from each other, so that threads side by side
// store side by side.
constexpr int kPart = 4;
constexpr int kApart = kTileRows / kPart;
static_assert(kTileRows == kTileColumns && kApart * kApart == kThreads && kTileRows * kTileDepth % kThreads == 0);

struct Product {
  int64_t m, n, k;
  Matrix a, b;
  bool reads_a_by_depth;  // neighbours along the depth are neighbours in memory
  bool reads_b_by_depth;
};

template <class C>
struct Tiles {
  C a[kTileDepth][kTileRows + 1];
  C b[kTileDepth][kTileColumns + 1];
};

// Elements outside of the matrix count as 0.
template <class C>
HALFTONE_DEVICE C element_or_zero(const Matrix& matrix, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return row < rows && column < columns ? load_at<C>(matrix, row, column) : C{0};
}

template <class C>
HALFTONE_DEVICE void load_tiles(const Product& product, int64_t row, int64_t column, int64_t depth, Tiles<C>& tiles) {
  for (int t = static_cast<int>(threadIdx.x); t < kTileRows * kTileDepth; t += kThreads) {
    const int across = product.reads_a_by_depth ? t / kTileDepth : t % kTileRows;
    const int along = product.reads_a_by_depth ? t % kTileDepth : t / kTileRows;
    tiles.a[along][across] = element_or_zero<C>(product.a, row + across, product.m, depth + along, product.k);
  }
  for (int t = static_cast<int>(threadIdx.x); t < kTileColumns * kTileDepth; t += kThreads) {
    const int across = product.reads_b_by_depth ? t / kTileDepth : t % kTileColumns;
    const int along = product.reads_b_by_depth ? t % kTileDepth : t / kTileColumns;
    tiles.b[along][across] = element_or_zero<C>(product.b, depth + along, product.k, column + across, product.n);
  }
}

template <class C>
HALFTONE_DEVICE void add_tiles(const Tiles<C>& tiles, int first_row, int first_column, C (&sums)[kPart][kPart]) {
#pragma unroll
  for (int depth = 0; depth < kTileDepth; ++depth) {
    C a[kPart];
    C b[kPart];
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
      a[i] = tiles.a[depth][first_row + i * kApart];
      b[i] = tiles.b[depth][first_column + i * kApart];
    }
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
#pragma unroll
      for (int j = 0; j < kPart; ++j) sums[i][j] = std::fma(a[i], b[j], sums[i][j]);
    }
  }
}

// Block: one tile of c, row by row. Threads: kApart x kApart.
template <class C>
HALFTONE_KERNEL tiled_kernel(Product product, Epilogue epilogue) {
  __shared__ Tiles<C> tiles;
  const int64_t tiles_in_row = (product.n + kTileColumns - 1) / kTileColumns;
  const int64_t row = blockIdx.x / tiles_in_row * kTileRows;
  const int64_t column = blockIdx.x % tiles_in_row * kTileColumns;
  const int first_row = static_cast<int>(threadIdx.x) / kApart;
  const int first_column = static_cast<int>(threadIdx.x) % kApart;
  C sums[kPart][kPart] = {};
  for (int64_t depth = 0; depth < product.k; depth += kTileDepth) {
    load_tiles(product, row, column, depth, tiles);
    __syncthreads();
    add_tiles(tiles, first_row, first_column, sums);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
#pragma unroll
    for (int j = 0; j < kPart; ++j) {
      const int64_t y = row + first_row + i * kApart;
      const int64_t x = column + first_column + j * kApart;
      if (y < product.m && x < product.n) finish<C>(epilogue, y, x, sums[i][j]);
    }
  }
}

HALFTONE_KERNEL finish_kernel(Epilogue epilogue, const float* sums, int64_t columns, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step())
    finish<float>(epilogue, i / columns, i % columns, sums[i]);
}

}  // namespace

Status multiply_tiled(Stream& stream, const GemmArgs& args) noexcept {
  const Product product = {.m = args.c.shape[0],
                           .n = args.c.shape[1],
                           .k = args.a.shape[1],
                           .a = matrix_of(args.a),
                           .b = matrix_of(args.b),
                           .reads_a_by_depth = args.a.strides[1] == 1,
                           .reads_b_by_depth = args.b.strides[0] == 1};
  const int64_t blocks = (product.m + kTileRows - 1) / kTileRows * ((product.n + kTileColumns - 1) / kTileColumns);
  if (blocks > INT32_MAX) return Status::failure(Code::kUnsupported, "a matrix product has more than 2^31 - 1 tiles");
  return with_float_type(args.c.dtype, [&]<class C>() {
    return launch(stream, {.blocks = blocks, .threads = kThreads}, tiled_kernel<C>, product, epilogue_of(args));
  });
}

Status finish_sums(Stream& stream, const GemmArgs& args, const float* sums) noexcept {
  const int64_t count = args.c.numel();
  return launch(stream, grid_for_items(device_of(stream), count), finish_kernel, epilogue_of(args), sums,
                args.c.shape[1], count);
}

}  // namespace halftone::cuda
