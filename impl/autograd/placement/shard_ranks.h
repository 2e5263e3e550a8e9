// The ranks that share the update of a parameter, as its optimizer sees them; parallel/ implements it. Every rank calls
// these functions at the same places.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/tensor.h"

namespace halftone {

class Parameter;

class ShardRanks : public RefCounted {
 public:
  virtual int32_t size() const noexcept = 0;
  // Writes every rank's `own`, 1-D, to `all`, one after another. Throws the errors of the group.
  virtual void gather(const Tensor& own, const Tensor& all) = 0;
  // Parameters whose weights travel together. An optimizer updates one set of them after another, the lowest number
  // first, so that the weights of one travel while the next one is updated.
  virtual size_t set_of(const Parameter&) const noexcept { return 0; }
  // Call before a change of weights. Waits until no message reads or writes them. Asks no other rank.
  virtual void settle() noexcept {}
  // Call after a change of the shards of a set. Starts the gather of its weights; a read of them throws its error.
  virtual void updated_set(size_t) noexcept {}
  // An optimizer has changed all the shards that it wants to. Throws the errors of the group.
  virtual void updated() = 0;
};

}  // namespace halftone
