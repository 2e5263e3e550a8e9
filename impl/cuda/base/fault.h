// The error word of a device: the first fault in the data that a kernel found, such as an index out of range. It lies
// in the CPU's memory, and kernels write it directly, so that a wait reads it without a transfer. A kernel gets the
// fault that it may report as an argument, and adds the place.
#pragma once

#include <cstdint>

#include "core/shape.h"
#include "core/status.h"
#include "cuda/base/device_code.h"

namespace halftone::cuda {

enum class FaultKind : int32_t {
  kIndex,       // name[position]=value is outside [0, bound)
  kWeight,      // name has `number` at `position` of row `value`, which is no weight
  kFewWeights,  // name has `position` weights above 0 in row `value`, fewer than `bound`
  kWeightSum,   // name has a sum beyond f64 in row `value`
  kDivisor,     // name[position] is 0 and divides an integer
};

enum class FaultState : int32_t { kNone, kBeingWritten, kWritten };

struct Fault {
  int32_t state = static_cast<int32_t>(FaultState::kNone);
  FaultKind kind = FaultKind::kIndex;
  char name[32] = {};
  Shape shape;           // of the tensor at fault
  int64_t position = 0;  // the element, row-major
  int64_t value = 0;
  int64_t bound = 0;
  double number = 0;
};

// A fault for a kernel to report. `name` is cut at 31 characters.
Fault possible_fault(FaultKind kind, const char* name, const Shape& shape, int64_t bound) noexcept;

// The message that the CPU gives for the same fault.
Status status_of(const Fault& fault) noexcept;

// Writes the fault unless another was reported before. The CPU may read the word meanwhile, so it is marked as written
// at the end.
HALFTONE_DEVICE inline void report(Fault* word, const Fault& fault, int64_t position, int64_t value) {
  constexpr int32_t kNone = static_cast<int32_t>(FaultState::kNone);
  if (atomicCAS(&word->state, kNone, static_cast<int32_t>(FaultState::kBeingWritten)) != kNone) return;
  word->kind = fault.kind;
  for (int i = 0; i < static_cast<int>(sizeof fault.name); ++i) word->name[i] = fault.name[i];
  word->shape = fault.shape;
  word->position = position;
  word->value = value;
  word->bound = fault.bound;
  word->number = fault.number;
  __threadfence_system();
  *const_cast<volatile int32_t*>(&word->state) = static_cast<int32_t>(FaultState::kWritten);
}

}  // namespace halftone::cuda
