// A replicated layer whose gradients a test writes.
#pragma once

#include <utility>
#include <vector>

#include "replicas.h"

namespace halftone::parallel {

inline constexpr int64_t kLarge = 40;

// One matrix and one vector whose gradients the test writes.
struct Gradients {
  Gradients(Rank& rank, Ref<ReductionHook> hook)
      : rank(rank), layer(make_ref<nn::Linear>(rank.device(), kLarge, kLarge, true, DType::kF32)) {
    ReplicateOptions options;
    options.hook = std::move(hook);
    replica = make_ref<Replicate>(*rank.group, layer->parameters(), options);
  }
  // values(rank, element) of the matrix; the vector has the rank's number.
  template <class Values>
  std::vector<float> average(Values&& values) const {
    std::vector<float> matrix(static_cast<size_t>(kLarge * kLarge));
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = values(rank.number(), i);
    for (const size_t i : {size_t{1}, size_t{0}}) {  // in the order of a backward, for which buckets are laid out
      const Ref<Parameter> parameter = layer->parameters()[i].parameter;
      AccumulateGrad& leaf = parameter->accumulator();
      leaf.zero_grad();
      const Tensor target = leaf.sink().tensor;
      if (target.rank() == 2) {
        write_from_host(target, DType::kF32, matrix.data());
      } else {
        fill(target, rank.number());
      }
      leaf.mark_stored();
      replica->mark_ready(*parameter);
    }
    replica->finish();
    return values_of(layer->parameters()[0].parameter->grad());
  }
  float vector_average() const { return values_of(layer->parameters()[1].parameter->grad())[0]; }

  Rank& rank;
  Ref<nn::Linear> layer;
  Ref<Replicate> replica;
};

inline float wave(int rank, size_t i) {
  return static_cast<float>(std::sin(0.3 * static_cast<double>(i * (3 + static_cast<size_t>(rank)))));
}

// The exact average of `values` over ranks.
template <class Values>
inline std::vector<float> expected_average(int ranks, Values&& values) {
  std::vector<float> result;
  for (size_t i = 0; i < static_cast<size_t>(kLarge * kLarge); ++i) {
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += values(rank, i);
    result.push_back(static_cast<float>(sum / ranks));
  }
  return result;
}

}  // namespace halftone::parallel
