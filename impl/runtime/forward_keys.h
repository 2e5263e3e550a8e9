// The random keys that a forward takes on a rank, so that ranks of one seed draw different numbers. parallel makes one
// object for each model, nn::Module uses it while the model's forward runs. The stack of guards belongs to one thread.
//
// By rank: the keys are those of the context, with another seed on each rank but rank 0. By microbatch: a key depends
// on the context's seed, the number of the microbatch and the draws before it in the microbatch, so that any number of
// ranks draws the same numbers for it.
#pragma once

#include <cstdint>

#include "core/philox.h"
#include "core/ref.h"
#include "core/thread.h"

namespace halftone {

class Context;

class ForwardKeys final : public RefCounted {
 public:
  enum class Kind { kByRank, kByMicrobatch };

  // `context` outlives this.
  ForwardKeys(const Context& context, Kind kind, int32_t rank) noexcept
      : context_(context), kind_(kind), rank_(static_cast<uint64_t>(rank)) {}

  // From here to the end of the innermost guard this thread takes these keys. REQUIRES: there is a guard; by
  // microbatch, one has begun.
  void take() noexcept;
  bool is_in_microbatch() const noexcept { return is_in_microbatch_; }
  void begin_microbatch(uint64_t number) noexcept {
    is_in_microbatch_ = true;
    microbatch_ = number;
    draws_ = 0;
  }
  void end_microbatch() noexcept { is_in_microbatch_ = false; }

  // Null outside of such a forward, and for another context.
  static ForwardKeys* of(const Context& context) noexcept;
  bool is_by_microbatch() const noexcept { return kind_ == Kind::kByMicrobatch; }
  // Makes `key`, the context's next one, that of this rank.
  PhiloxKey of_rank(PhiloxKey key) const noexcept;
  // `seed` is the context's.
  PhiloxKey next_of_microbatch(uint64_t seed) noexcept;
  // Undoes next_of_microbatch(), unless others were taken since.
  void return_draw(uint64_t draw) noexcept {
    if (draws_ == draw + 1) draws_ = draw;
  }
  uint64_t draws() const noexcept { return draws_; }
  // True where a key differs from the context's.
  bool is_changing() const noexcept { return is_by_microbatch() || rank_ != 0; }

 private:
  const Context& context_;
  const Kind kind_;
  const uint64_t rank_;
  bool is_in_microbatch_ = false;
  uint64_t microbatch_ = 0;
  uint64_t draws_ = 0;  // in this microbatch
};

// Restores, at the end of a block, the keys that this thread takes.
class ForwardKeysGuard {
 public:
  ForwardKeysGuard() noexcept : innermost_(this) {
    if (innermost_.outer() != nullptr) keys_ = innermost_.outer()->keys_;
  }

 private:
  friend class ForwardKeys;

  Ref<ForwardKeys> keys_;
  const ThreadGuard<&Thread::forward_keys> innermost_;
};

inline void ForwardKeys::take() noexcept { thread().forward_keys->keys_ = Ref<ForwardKeys>::share(this); }

}  // namespace halftone
