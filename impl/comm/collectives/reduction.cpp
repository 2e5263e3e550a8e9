#include "comm/collectives/reduction.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <type_traits>

#include "core/type_list.h"

// Partial results are combined as in a binary tree over the rank numbers: a range of ranks is cut behind the largest
// power of two that leaves something over, and the results of both halves are combined. Ranks 0 to 4 make
// ((0 1) (2 3)) 4. The tree of 2^n ranks is a part of every larger tree.
namespace halftone {
namespace {

constexpr int64_t kBlock = 256;

// The type in which T is combined.
template <class T>
using Wide = std::conditional_t<std::integral<T> || std::same_as<T, double>, T, float>;

struct Sum {
  template <class W>
  static W combine(W a, W b) {
    if constexpr (std::floating_point<W>) {
      return a + b;
    } else {
      return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));  // modulo 2^bits, without overflow
    }
  }
};

// A NaN on either side wins: no comparison with it holds.
struct Min {
  template <class W>
  static W combine(W a, W b) {
    return b < a || b != b ? b : a;
  }
};

struct Max {
  template <class W>
  static W combine(W a, W b) {
    return a < b || b != b ? b : a;
  }
};

template <class T, class Combine>
class Reduction {
 public:
  Reduction(std::span<const void* const> inputs, Wide<T> divisor) : inputs_(inputs), divisor_(divisor) {}

  void run(int64_t count, T* out) const {
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t size = std::min(kBlock, count - begin);
      Wide<T> values[kBlock];
      reduce(0, inputs_.size(), begin, size, values);
      store(values, size, out + begin);
    }
  }

 private:
  void reduce(size_t first, size_t last, int64_t begin, int64_t size, Wide<T>* out) const {
    if (last - first == 1) {
      const T* input = static_cast<const T*>(inputs_[first]) + begin;
      for (int64_t i = 0; i < size; ++i) out[i] = static_cast<Wide<T>>(input[i]);
      return;
    }
    const size_t middle = first + std::bit_floor(last - first - 1);
    reduce(first, middle, begin, size, out);
    Wide<T> right[kBlock];
    reduce(middle, last, begin, size, right);
    for (int64_t i = 0; i < size; ++i) out[i] = Combine::combine(out[i], right[i]);
  }

  void store(const Wide<T>* values, int64_t size, T* out) const {
    for (int64_t i = 0; i < size; ++i) {
      Wide<T> value = values[i];
      if constexpr (std::floating_point<Wide<T>>) value /= divisor_;  // exact where the divisor is 1
      if constexpr (requires { T::from(value); }) {
        out[i] = T::from(value);
      } else {
        out[i] = value;
      }
    }
  }

  std::span<const void* const> inputs_;
  Wide<T> divisor_;
};

template <class T>
void reduce_as(ReduceOp op, std::span<const void* const> inputs, int64_t count, T* out) {
  const auto run = [&]<class Combine>(Combine, size_t divisor) {
    Reduction<T, Combine>(inputs, static_cast<Wide<T>>(divisor)).run(count, out);
  };
  switch (op) {
    case ReduceOp::kSum:
      return run(Sum{}, 1);
    case ReduceOp::kAverage:
      return run(Sum{}, inputs.size());
    case ReduceOp::kMin:
      return run(Min{}, 1);
    case ReduceOp::kMax:
      return run(Max{}, 1);
  }
}

}  // namespace

void reduce_inputs(ReduceOp op, DType dtype, std::span<const void* const> inputs, int64_t count, void* out) noexcept {
  try_visit_dtype(AllTypes{}, dtype, [&]<class T>() { reduce_as(op, inputs, count, static_cast<T*>(out)); });
}

}  // namespace halftone
