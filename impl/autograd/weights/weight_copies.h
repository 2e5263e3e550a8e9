// The copies of a parameter's weights in other formats, which operations read in place of a cast. The optimizer writes
// one of them together with the weights. A reader makes the others, such as codes with scales, and they are current
// until the weights change. One thread at a time changes the copies; several threads may read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "autograd/weights/leaf_tensor.h"
#include "core/dtype.h"
#include "tensor/tensor.h"

namespace halftone {

struct WeightCopy {
  DType format = DType::kF32;  // of one element, also if `data` packs several elements into a byte
  Tensor data = {};            // undefined: there is no copy
  Tensor scales = {};          // undefined: `data` holds the values themselves
  uint64_t version = 0;        // of the weights from which the copy was made
};

class WeightCopies {
 public:
  // A reader may keep codes for forward and others for backward.
  static constexpr size_t kMostMade = 2;

  // The copy that the optimizer writes; its data are undefined if there is none.
  const WeightCopy& updated() const noexcept { return places_[0].copy; }
  // Keeps a copy that a reader made, in place of its former copy in that format. Returns false, and keeps nothing, if
  // kMostMade copies in other formats are kept.
  bool keep(WeightCopy copy) noexcept;
  // Releases a reader's copy.
  void drop(DType format) noexcept;
  // The copy in a format, current or not; null if there is none.
  const WeightCopy* find(DType format) const noexcept;
  // The data of a copy without scales that belongs to this version of the weights; null if there is none.
  const Tensor* values(DType format, uint64_t version) const noexcept;
  // The leaf tensor over values(). Throws OUT_OF_MEMORY.
  const Tensor* leaf(DType format, uint64_t version, GradientSource& source) const;

 private:
  friend class Weights;
  struct Place {
    WeightCopy copy;
    LeafTensor leaf;
  };

  // An undefined tensor removes the copy.
  void set_updated(Tensor data, uint64_t version) noexcept;
  // Call before the weights move to another tensor, whose versions count anew.
  void clear() noexcept;
  void mark_current(uint64_t version) noexcept { places_[0].copy.version = version; }
  static void set(Place& place, WeightCopy copy) noexcept;
  const Place* place_of_values(DType format, uint64_t version) const noexcept;

  std::array<Place, 1 + kMostMade> places_;  // the optimizer's copy, then those of readers
};

}  // namespace halftone
