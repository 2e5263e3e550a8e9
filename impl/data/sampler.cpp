#include "data/sampler.h"

#include <algorithm>
#include <cinttypes>
#include <numeric>
#include <utility>

#include "backend/formula/shuffle.h"
#include "core/error.h"

namespace halftone::data {

namespace {

void require_positive(const char* option, int64_t value) {
  if (value < 1) fail(Code::kInvalidArgument, "options", "options.%s=%" PRId64 ", expected at least 1", option, value);
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  require_positive("count", options.count);
  require_positive("batch_size", options.batch_size);
  require_positive("world_size", options.world_size);
  if (options.rank < 0 || options.rank >= options.world_size) {
    fail(Code::kInvalidArgument, "options", "options.rank=%d is outside [0, world_size=%d)", options.rank,
         options.world_size);
  }
  // With drop_last every rank takes the same number of batches, so the rank with the fewest samples decides.
  const int64_t samples = options.drop_last ? options.count / options.world_size : samples_on_rank();
  batches_per_epoch_ = samples / options.batch_size;
  if (!options.drop_last && samples % options.batch_size != 0) ++batches_per_epoch_;
  if (batches_per_epoch_ == 0) {
    fail(Code::kInvalidArgument, "options",
         "options.count=%" PRId64 " gives rank %d of %d no batch of %" PRId64 " samples", options.count, options.rank,
         options.world_size, options.batch_size);
  }
}

int64_t Sampler::samples_on_rank() const noexcept {
  return options_.rank < options_.count ? (options_.count - options_.rank - 1) / options_.world_size + 1 : 0;
}

void Sampler::order_epoch() {
  if (ordered_epoch_ == epoch()) return;
  std::vector<int64_t> all(static_cast<size_t>(options_.count));
  std::iota(all.begin(), all.end(), int64_t{0});
  if (options_.shuffle)
    shuffle(all.data(), options_.count, {.seed = options_.seed, .sequence = static_cast<uint64_t>(epoch())});
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(samples_on_rank()));
  for (int64_t i = options_.rank; i < options_.count; i += options_.world_size) {
    order.push_back(all[static_cast<size_t>(i)]);
  }
  order_ = std::move(order);
  ordered_epoch_ = epoch();
}

const std::vector<int64_t>& Sampler::peek() {
  order_epoch();
  const int64_t begin = batch() * options_.batch_size;
  const int64_t end = std::min(begin + options_.batch_size, static_cast<int64_t>(order_.size()));
  next_.assign(order_.begin() + begin, order_.begin() + end);
  return next_;
}

void Sampler::advance() noexcept { ++cursor_; }

}  // namespace halftone::data
