// Numbers of a run that a checkpoint holds: an entry of a part of its own. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "tensor/state_dict.h"

namespace halftone::trainer {

class SavedNumbers {
 public:
  // Adds an entry to the part. Throws OUT_OF_MEMORY.
  SavedNumbers(SharedStateDict& part, const std::string& name, ContextDevice& device, size_t count);

  // REQUIRES: as many numbers as the entry has.
  void write(const std::vector<double>& numbers);
  // Waits for the device.
  std::vector<double> read() const;

 private:
  Tensor numbers_;  // f64
};

}  // namespace halftone::trainer
