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

void require_count(int64_t count) {
  require_positive("count", count);
  if (count <= kMaxSamples) return;
  fail(Code::kInvalidArgument, "options", "options.count=%" PRId64 ", expected at most %" PRId64, count, kMaxSamples);
}

std::vector<int64_t> counted(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

// A sequence that no epoch uses, so that a sampler and its split may have one seed.
constexpr uint64_t kSplitSequence = UINT64_MAX;

// The last of the shuffled samples are for validation. Rising order keeps neighbours in a file together where the
// sampler does not shuffle.
std::vector<int64_t> samples_of(const Split& split, int64_t count) {
  if (split.part == Part::kWhole) return {};
  std::vector<int64_t> samples = counted(count);
  shuffle(samples.data(), count, {.seed = split.seed, .sequence = kSplitSequence});
  const auto border = samples.end() - split.validation_count;
  if (split.part == Part::kTraining) {
    samples.erase(border, samples.end());
  } else {
    samples.erase(samples.begin(), border);
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  require_count(options.count);
  require_positive("batch_size", options.batch_size);
  require_positive("world_size", options.world_size);
  if (options.rank < 0 || options.rank >= options.world_size) {
    fail(Code::kInvalidArgument, "options", "options.rank=%d is outside [0, world_size=%d)", options.rank,
         options.world_size);
  }
  part_ = samples_of(options.split, options.count);
  samples_ = options.split.part == Part::kWhole ? options.count : static_cast<int64_t>(part_.size());
  // With drop_last every rank takes the same number of batches, so the rank with the fewest samples decides.
  const int64_t samples = options.drop_last ? samples_ / options.world_size : samples_on_rank();
  batches_per_epoch_ = samples / options.batch_size;
  if (!options.drop_last && samples % options.batch_size != 0) ++batches_per_epoch_;
  if (batches_per_epoch_ == 0) {
    fail(Code::kInvalidArgument, "options",
         "options.count=%" PRId64 " gives rank %d of %d no batch of %" PRId64 " samples, since %" PRId64
         " are shared out",
         options.count, options.rank, options.world_size, options.batch_size, samples_);
  }
}

int64_t Sampler::samples_on_rank() const noexcept {
  return options_.rank < samples_ ? (samples_ - options_.rank - 1) / options_.world_size + 1 : 0;
}

void Sampler::order_epoch() {
  if (!options_.shuffle || ordered_epoch_ == epoch()) return;
  order_ = {};
  ordered_epoch_ = -1;
  std::vector<int64_t> order = counted(samples_);
  shuffle(order.data(), samples_, {.seed = options_.seed, .sequence = static_cast<uint64_t>(epoch())});
  const int64_t own = samples_on_rank();
  for (int64_t i = 0; i < own; ++i) order[static_cast<size_t>(i)] = order[static_cast<size_t>(place_of(i))];
  order.resize(static_cast<size_t>(own));
  order.shrink_to_fit();
  order_ = std::move(order);
  ordered_epoch_ = epoch();
}

int64_t Sampler::sample(int64_t i) const noexcept {
  const int64_t place = options_.shuffle ? order_[static_cast<size_t>(i)] : place_of(i);
  return part_.empty() ? place : part_[static_cast<size_t>(place)];
}

const std::vector<int64_t>& Sampler::peek() {
  order_epoch();
  const int64_t begin = batch() * options_.batch_size;
  const int64_t size = std::min(options_.batch_size, samples_on_rank() - begin);
  next_.resize(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) next_[static_cast<size_t>(i)] = sample(begin + i);
  return next_;
}

void Sampler::advance() noexcept { ++cursor_; }

std::vector<int64_t> Sampler::following() {
  struct Ahead {
    explicit Ahead(int64_t& number) : cursor(number) { ++cursor; }
    ~Ahead() { --cursor; }
    int64_t& cursor;
  } const ahead(cursor_);
  return peek();
}

}  // namespace halftone::data
