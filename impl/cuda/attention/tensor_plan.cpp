#include "cuda/attention/tensor_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>

namespace halftone::cuda {
namespace {

constexpr int64_t kRowAlignment = 8;            // elements of 16 bits in 16 bytes
constexpr int64_t kMostRows = INT32_MAX / 4;    // so that sums and differences of rows have 32 bits
constexpr int64_t kMostStride = INT32_MAX / 2;  // of rows, so that their bytes have 32 bits
constexpr TensorPass kPasses[] = {TensorPass::kForward, TensorPass::kGradQ, TensorPass::kGradKeys};

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

bool fits(int depth, size_t shared_memory) {
  return std::all_of(std::begin(kPasses), std::end(kPasses), [&](TensorPass pass) {
    return tensor_shared_bytes({pass, depth, false}) <= shared_memory &&
           tensor_shared_bytes({pass, depth, true}) <= shared_memory;
  });
}

// The log sum and the products of scores must be finite in FP32.
bool is_foldable(double scale) { return scale > 0x1p-64 && scale < 0x1p64; }

}  // namespace

bool is_tensor_view(const View& view, DType dtype) noexcept {
  if (view.data == nullptr) return true;
  const int last = view.rank() - 1;
  if (view.dtype != dtype || view.shape[last] % kRowAlignment != 0) return false;
  if (view.strides[last] != 1 || reinterpret_cast<uintptr_t>(view.data) % 16 != 0) return false;
  if (std::abs(view.strides[last - 1]) > kMostStride) return false;
  for (int d = 0; d < last; ++d) {
    if (view.shape[d] != 1 && view.strides[d] % kRowAlignment != 0) return false;
  }
  return true;
}

int tensor_depth(const AttentionArgs& args, size_t shared_memory) noexcept {
  const int last = args.q.rank() - 1;
  const int64_t depth = std::max(args.q.shape[last], args.v.shape[last]);
  if (depth > 128 || !is_half(args.q.dtype) || !is_foldable(args.settings.scale)) return 0;
  const int64_t queries = args.q.numel() / args.q.shape[last];  // of all heads
  if (std::max(queries, args.k.shape[last - 1]) > kMostRows) return 0;
  for (const View* view : {&args.q, &args.k, &args.v}) {
    if (!is_tensor_view(*view, args.q.dtype)) return 0;
  }
  const int padded = depth <= 64 ? 64 : 128;
  return fits(padded, shared_memory) ? padded : 0;
}

}  // namespace halftone::cuda
