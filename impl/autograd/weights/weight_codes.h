// Codes of a parameter's weights with their scales, which products under a low-precision recipe read. The first reader
// after an update makes them; the others use them until the weights change. Several threads may find and keep codes;
// clear() needs exclusive use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "tensor/tensor.h"

namespace halftone {

struct WeightCodes {
  uint64_t key = 0;      // of the reader, which says how the weights are coded
  uint64_t version = 0;  // of the weights from which the codes were made
  Tensor codes = {};     // undefined: there are none
  Tensor scales = {};
  Tensor tensor_scale = {};  // undefined where the layout has none
};

class KeptCodes {
 public:
  // A reader keeps codes for forward and others for backward.
  static constexpr size_t kMost = 2;

  // Codes without tensors where none of this key and version are kept.
  WeightCodes find(uint64_t key, uint64_t version) const;
  // Keeps codes in place of those of another version, else of the same key, else of those that were kept first.
  void keep(WeightCodes made);
  void clear() noexcept;

 private:
  mutable std::mutex mutex_;
  std::array<WeightCodes, kMost> kept_;  // the newest first
};

}  // namespace halftone
