#include "nn/transformer/next_logits.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/error.h"
#include "nn/transformer/transformer.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

constexpr int kPositionsDim = 4;         // of a cache
constexpr int64_t kFirstPositions = 64;  // a cache begins with as many, and doubles when they are filled

const Transformer* cacheable(const Module& model) {
  const auto* transformer = dynamic_cast<const Transformer*>(&model);
  return transformer != nullptr && transformer->can_cache() ? transformer : nullptr;
}

// The first `count` positions of a cache, a view.
Tensor first_positions(const Tensor& cache, int64_t count) { return ops::slice(cache, kPositionsDim, 0, count, 1); }

void require_logits(const Tensor& logits, const Tensor& tokens) {
  if (logits.rank() == 3 && logits.size(0) == tokens.size(0) && logits.size(1) >= 1 && logits.size(2) >= 1) return;
  fail(Code::kShapeMismatch, "module", "module returned %s, expected logits [batch, time, vocabulary]",
       ShapeText(logits.shape()).text);
}

}  // namespace

NextLogits::NextLogits(const Module& model, int64_t context)
    : model_(model),
      transformer_(cacheable(model)),
      context_(context > 0 ? context : std::numeric_limits<int64_t>::max()) {}

void NextLogits::reserve(int64_t batch, int64_t positions) {
  const int64_t had = cache_.defined() ? cache_.size(kPositionsDim) : 0;
  if (positions <= had) return;
  const int64_t most = std::min(context_, transformer_->most_positions());
  const int64_t wanted = std::min(std::max({positions, 2 * had, kFirstPositions}), most);
  const Tensor larger = transformer_->make_cache(batch, wanted, transformer_->cache_dtype());
  if (seen_ > 0) copy(first_positions(cache_, seen_), first_positions(larger, seen_));
  cache_ = larger;
}

Tensor NextLogits::cached_logits(const Tensor& tokens) {
  const int64_t time = tokens.size(1);
  reserve(tokens.size(0), time);
  Tensor logits;
  const std::array inputs = {ops::slice(tokens, 1, seen_, time, 1), Tensor(), first_positions(cache_, time)};
  model_.run(inputs, {&logits, 1});
  seen_ = time;
  return logits;
}

Tensor NextLogits::logits_of(const Tensor& tokens) {
  const int64_t time = tokens.size(1);
  if (transformer_ != nullptr && time <= std::min(context_, transformer_->most_positions())) {
    return cached_logits(tokens);
  }
  cache_ = Tensor();
  return model_.run(time <= context_ ? tokens : ops::slice(tokens, 1, time - context_, time, 1));
}

std::vector<double> NextLogits::after(const Tensor& tokens) {
  const Tensor logits = logits_of(tokens);
  require_logits(logits, tokens);
  const Tensor last = ops::slice(logits, 1, logits.size(1) - 1, logits.size(1), 1);
  std::vector<double> values(static_cast<size_t>(last.numel()));
  if (!values.empty()) read_to_host(last, DType::kF64, values.data());
  return values;
}

}  // namespace halftone::nn
