#include "nn/transformer/next_logits.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/error.h"
#include "nn/transformer/transformer.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

constexpr int kPositionsDim = 4;         // of a cache
constexpr int64_t kFirstPositions = 64;  // a cache begins with as many, and doubles when they are filled

// The first `count` positions of a cache, a view.
Tensor first_positions(const Tensor& cache, int64_t count) { return ops::slice(cache, kPositionsDim, 0, count, 1); }

void require_logits(const Tensor& logits, const Tensor& tokens) {
  if (logits.rank() == 3 && logits.size(0) == tokens.size(0) && logits.size(1) >= 1 && logits.size(2) >= 1) return;
  fail(Code::kShapeMismatch, "module", "module returned %s, expected logits [batch, time, vocabulary]",
       ShapeText(logits.shape()).text);
}

}  // namespace

NextLogits::NextLogits(const Module& model, int64_t context, LeftPadding padding)
    : model_(model),
      transformer_(dynamic_cast<const Transformer*>(&model)),
      can_cache_(transformer_ != nullptr && transformer_->can_cache()),
      context_(context > 0 ? context : std::numeric_limits<int64_t>::max()),
      padding_(std::move(padding)) {
  if (padding_.is_none() || transformer_ != nullptr) return;
  fail(Code::kUnsupported, "options", "options.mask for a module of kind %s, expected a transformer", model.kind());
}

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
  const Tensor logits = run_columns(tokens, 0, seen_, first_positions(cache_, time));
  seen_ = time;
  return logits;
}

Tensor NextLogits::run_columns(const Tensor& tokens, int64_t begin, int64_t from, const Tensor& cache) const {
  const int64_t time = tokens.size(1);
  std::array<Tensor, 4> inputs = {from == 0 ? tokens : ops::slice(tokens, 1, from, time, 1), Tensor(), cache, Tensor()};
  if (!padding_.is_none()) {
    const int64_t most = padding_.most_tokens(begin, time);
    if (most > transformer_->most_positions()) {
      fail(Code::kShapeMismatch, "tokens", "tokens have %lld in a row, more than the positions=%lld of the model",
           static_cast<long long>(most), static_cast<long long>(transformer_->most_positions()));
    }
    inputs[1] = padding_.mask(begin, time);
    if (transformer_->has_positions()) inputs[3] = padding_.positions(begin, from, time);
  }
  size_t count = inputs.size();
  while (!inputs[count - 1].defined()) --count;
  Tensor logits;
  model_.run(std::span(inputs).first(count), {&logits, 1});
  return logits;
}

Tensor NextLogits::logits_of(const Tensor& tokens) {
  const int64_t time = tokens.size(1);
  if (can_cache_ && time <= std::min(context_, transformer_->most_positions())) return cached_logits(tokens);
  cache_ = Tensor();
  const int64_t begin = std::max<int64_t>(time - context_, 0);
  return run_columns(tokens, begin, begin, Tensor());
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
