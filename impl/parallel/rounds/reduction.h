// The way in which ranks reduce one bucket of gradients: the communication hooks of GradientEngine. Reductions are
// started while backward computes, in the order of the buckets, and completed at its end. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallel/mesh/exchange.h"
#include "parallel/rounds/gradient_buckets.h"

namespace halftone::parallel {

// The average of one bucket in one backward. The destructor waits for the operations under way.
class Reduction {
 public:
  virtual ~Reduction() = default;
  // Waits for the operation under way and starts the next one. Returns true when the bucket holds the average. Throws
  // the operation's error.
  virtual bool advance() = 0;
};

struct ReductionCall {
  const Exchange& exchange;
  const GradientBuckets::Bucket& bucket;
  size_t index;   // of the bucket
  uint64_t step;  // the number of the backward

  CallOptions options(uint64_t stage = 0) const noexcept {
    return exchange.options(Purpose::kBucket, step, mixed(index, stage));
  }
};

class ReductionHook : public RefCounted {
 public:
  // Compared among ranks: the kind and its settings.
  virtual std::string name() const = 0;
  virtual std::unique_ptr<Reduction> start(const ReductionCall& call) = 0;
  // Returns the factor that recovers a sum from a result of the elements behind the gradients; 0 if such elements are
  // not reduced, and the states of the ranks have to be exchanged apart.
  virtual int32_t status_factor(const Exchange& exchange) const noexcept { return exchange.size(); }
  // Returns how many reductions may be under way while backward fills the next bucket. Before more are, the oldest is
  // completed, so that its bucket's memory is free.
  virtual size_t most_open() const noexcept { return std::numeric_limits<size_t>::max(); }
  // Called when buckets were laid out. They outlive this hook, or the next call.
  virtual void follow(const GradientBuckets&) {}
  // A round begins. `is_by_hand`: the caller marks its gradients; else they are those of a backward.
  virtual void begin(bool is_by_hand) { static_cast<void>(is_by_hand); }
  // A round has failed: its gradients are not those of all ranks.
  virtual void drop() noexcept {}
  // Called before code other than autograd writes to a bucket's memory. Throws OUT_OF_MEMORY.
  virtual void prepare(size_t) {}
  // Called when every bucket is reduced, and no rank has failed. `anywhere`: for each parameter, true if a rank has
  // a gradient of it; empty: all have. Returns true if the hook has brought the gradients to where they belong; else
  // they belong into the leaves.
  virtual bool deliver(const std::vector<uint8_t>& anywhere) {
    static_cast<void>(anywhere);
    return false;
  }
};

}  // namespace halftone::parallel
