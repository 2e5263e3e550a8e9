#include <algorithm>
#include <concepts>
#include <type_traits>

#include "comm/nccl/cuda_call.h"
#include "comm/nccl/tree_reduction.h"
#include "core/type_list.h"

namespace halftone::nccl {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 2048;  // fill every GPU; threads loop over further elements
constexpr int kLevels = 13;            // of a tree over kMaxGroupSize ranks
static_assert(kMaxGroupSize <= 1 << (kLevels - 1));

// The type in which T is combined.
template <class T>
using Wide = std::conditional_t<std::integral<T> || std::same_as<T, double>, T, float>;

struct Sum {
  template <class W>
  static __device__ W combine(W a, W b) {
    if constexpr (std::floating_point<W>) {
      return a + b;
    } else {
      return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));  // modulo 2^bits
    }
  }
};

// A NaN on either side wins: no comparison with it holds.
struct Min {
  template <class W>
  static __device__ W combine(W a, W b) {
    return b < a || b != b ? b : a;
  }
};

struct Max {
  template <class W>
  static __device__ W combine(W a, W b) {
    return a < b || b != b ? b : a;
  }
};

// Combines values in the order of the ranks as a carry moves through a binary counter: level k holds 2^k of them. This
// is the tree that is cut behind the largest power of two.
template <class W, class Combine>
struct TreeCounter {
  W levels[kLevels] = {};

  __device__ void add(int32_t number, W value) {
    bool has_carry = true;
#pragma unroll
    for (int level = 0; level < kLevels; ++level) {
      if (!has_carry) continue;
      if ((number >> level & 1) != 0) {
        value = Combine::combine(levels[level], value);
      } else {
        levels[level] = value;
        has_carry = false;
      }
    }
  }

  __device__ W total(int32_t size) const {
    W sum = W{};
    bool is_first = true;
#pragma unroll
    for (int level = 0; level < kLevels; ++level) {
      if ((size >> level & 1) == 0) continue;
      sum = is_first ? levels[level] : Combine::combine(levels[level], sum);
      is_first = false;
    }
    return sum;
  }
};

template <class T, class W>
__device__ T rounded(W value) {
  if constexpr (requires { T::from(value); }) {
    return T::from(value);
  } else {
    return value;
  }
}

// Each thread reduces elements that are a grid apart, so that the threads of a warp read neighbours of one rank.
template <class T, class Combine>
__global__ void reduce(RankParts parts, Wide<T> divisor, T* out) {
  const T* own = static_cast<const T*>(parts.own);
  const T* others = static_cast<const T*>(parts.others);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < parts.count; i += step) {
    TreeCounter<Wide<T>, Combine> tree;
    for (int32_t rank = 0; rank < parts.size; ++rank) {
      const int64_t row = rank < parts.rank ? rank : rank - 1;
      tree.add(rank, static_cast<Wide<T>>(rank == parts.rank ? own[i] : others[row * parts.count + i]));
    }
    Wide<T> value = tree.total(parts.size);
    if constexpr (std::floating_point<Wide<T>>) value /= divisor;  // exact where the divisor is 1
    out[i] = rounded<T>(value);
  }
}

template <class T, class Combine>
Status launch(cudaStream_t stream, RankParts parts, int32_t divisor, void* out) {
  const int64_t blocks = std::min((parts.count + kThreads - 1) / kThreads, kMostBlocks);
  auto wide_divisor = static_cast<Wide<T>>(divisor);
  T* target = static_cast<T*>(out);
  void* arguments[] = {&parts, &wide_divisor, &target};
  return status_of(
      cudaLaunchKernel(reduce<T, Combine>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), arguments, 0, stream),
      "cudaLaunchKernel");
}

template <class T>
Status launch_for(cudaStream_t stream, ReduceOp op, const RankParts& parts, void* out) {
  switch (op) {
    case ReduceOp::kMin:
      return launch<T, Min>(stream, parts, 1, out);
    case ReduceOp::kMax:
      return launch<T, Max>(stream, parts, 1, out);
    default:
      return launch<T, Sum>(stream, parts, op == ReduceOp::kAverage ? parts.size : 1, out);
  }
}

}  // namespace

Status reduce_in_tree(cudaStream_t stream, ReduceOp op, DType dtype, const RankParts& parts, void* out) noexcept {
  Status status;
  if (parts.count == 0) return status;
  try_visit_dtype(AllTypes{}, dtype, [&]<class T>() { status = launch_for<T>(stream, op, parts, out); });
  return status;
}

}  // namespace halftone::nccl
