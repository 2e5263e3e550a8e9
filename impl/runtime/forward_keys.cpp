#include "runtime/forward_keys.h"

namespace halftone {
namespace {

// Different for each pair of numbers, and 0 for none that is used (the finalizer of MurmurHash3).
constexpr uint64_t salt_of(uint64_t kind, uint64_t number) noexcept {
  uint64_t value = (number + 1) * 0x9e3779b97f4a7c15u ^ kind;
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdu;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53u;
  return value ^ (value >> 33);
}

constexpr uint64_t kOfRank = 1;
constexpr uint64_t kOfDraw = 2;

}  // namespace

ForwardKeys* ForwardKeys::of(const Context& context) noexcept {
  const ForwardKeysGuard* const guard = thread().forward_keys;
  if (guard == nullptr || !guard->keys_ || &guard->keys_->context_ != &context) return nullptr;
  return guard->keys_.get();
}

// Rank 0 draws the numbers of one process.
PhiloxKey ForwardKeys::of_rank(PhiloxKey key) const noexcept {
  if (rank_ != 0) key.seed ^= salt_of(kOfRank, rank_);
  return key;
}

PhiloxKey ForwardKeys::next_of_microbatch(uint64_t seed) noexcept {
  return {.seed = seed ^ salt_of(kOfDraw, draws_++), .sequence = microbatch_, .replayed = nullptr};
}

}  // namespace halftone
