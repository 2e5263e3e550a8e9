#include "cuda/gemm/product.h"
#include "cuda/gemm/tiled.h"
#include "cuda/gemm/tiles.h"

namespace halftone::cuda {
namespace {

// Block: one tile of c. Threads: kThreads.
template <class C>
HALFTONE_KERNEL tiled_kernel(Product product, Epilogue epilogue) {
  multiply_tile<C>(product, blockIdx.x, 0, product.k,
                   [&](int64_t row, int64_t column, C sum) { finish<C>(epilogue, row, column, sum); });
}

HALFTONE_KERNEL finish_kernel(Epilogue epilogue, const float* sums, int64_t columns, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    finish<float>(epilogue, i / columns, i % columns, sums[i]);
  }
}

}  // namespace

Status multiply_tiled(Stream& stream, const GemmArgs& args) noexcept {
  const Product product = product_of(args);
  const int64_t blocks = tiles_of(product.m, product.n);
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
