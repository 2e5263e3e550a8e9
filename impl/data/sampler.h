// The order of samples. Each epoch has a permutation that depends on (seed, epoch, count) alone. A rank takes every
// world_size-th sample of it, cut into batches. The cursor is one number, so that a checkpoint can hold it. A sampler
// may be over a part of the samples, which a seeded split of all of them determines.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ref.h"

namespace halftone::data {

// A part of a data set. Both parts together have every sample once.
enum class Part { kWhole, kTraining, kValidation };

struct Split {
  Part part = Part::kWhole;
  int64_t validation_count = 0;
  uint64_t seed = 0;
};

// A shuffled order is an array of this many 64-bit numbers at most: no process can address more.
inline constexpr int64_t kMaxSamples = INT64_MAX / static_cast<int64_t>(sizeof(int64_t));

struct SamplerOptions {
  int64_t count = 0;
  int64_t batch_size = 0;
  uint64_t seed = 0;
  int32_t rank = 0;
  int32_t world_size = 1;
  bool shuffle = true;
  bool drop_last = false;
  Split split = {};
};

class Sampler final : public RefCounted {
 public:
  // Throws INVALID_ARGUMENT naming the option.
  explicit Sampler(const SamplerOptions& options);

  // Samples in the data set, those of the other part included.
  int64_t count() const noexcept { return options_.count; }
  int64_t batches_per_epoch() const noexcept { return batches_per_epoch_; }
  int64_t epoch() const noexcept { return cursor_ / batches_per_epoch_; }
  int64_t batch() const noexcept { return cursor_ % batches_per_epoch_; }

  // The indices of the next batch; valid until advance().
  const std::vector<int64_t>& peek();
  void advance() noexcept;
  // The indices of the batch after the next one.
  std::vector<int64_t> following();

  // The number of batches taken since the beginning. REQUIRES: a new cursor is at least 0.
  int64_t cursor() const noexcept { return cursor_; }
  void set_cursor(int64_t cursor) noexcept { cursor_ = cursor; }
  const SamplerOptions& options() const noexcept { return options_; }

 private:
  int64_t samples_on_rank() const noexcept;
  // The place in the order of all ranks of this rank's i-th sample.
  int64_t place_of(int64_t i) const noexcept { return options_.rank + i * options_.world_size; }
  // This rank's i-th sample. REQUIRES: order_epoch() was called.
  int64_t sample(int64_t i) const noexcept;
  void order_epoch();

  SamplerOptions options_;
  std::vector<int64_t> part_;  // the samples of a part, in rising order; empty for the whole
  int64_t samples_;            // in the part
  int64_t batches_per_epoch_;
  int64_t cursor_ = 0;          // batches taken since the beginning
  int64_t ordered_epoch_ = -1;  // the epoch that order_ belongs to
  std::vector<int64_t> order_;  // this rank's places of the shuffled order, in turn; empty without a shuffle
  std::vector<int64_t> next_;
};

}  // namespace halftone::data
