#include "cuda/base/fault.h"

#include <cinttypes>
#include <cstdio>

#include "backend/geometry/place_text.h"

namespace halftone::cuda {

Fault possible_fault(FaultKind kind, const char* name, const Shape& shape, int64_t bound) noexcept {
  Fault fault;
  fault.kind = kind;
  std::snprintf(fault.name, sizeof fault.name, "%s", name);
  fault.shape = shape;
  fault.bound = bound;
  return fault;
}

Status status_of(const Fault& fault) noexcept {
  constexpr Code kCode = Code::kInvalidArgument;
  switch (fault.kind) {
    case FaultKind::kIndex:
      return Status::failure(kCode, "%s%s=%" PRId64 " is outside [0, %" PRId64 ")", fault.name,
                             PlaceText(fault.shape, fault.position).text, fault.value, fault.bound);
    case FaultKind::kWeight:
      return Status::failure(kCode,
                             "%s has %g at %" PRId64 " of row %" PRId64 ", expected finite numbers of at least 0",
                             fault.name, fault.number, fault.position, fault.value);
    case FaultKind::kFewWeights:
      return Status::failure(kCode, "%s has %" PRId64 " above 0 in row %" PRId64 ", expected at least %" PRId64,
                             fault.name, fault.position, fault.value, fault.bound);
    case FaultKind::kWeightSum:
      return Status::failure(kCode, "%s has a sum beyond f64 in row %" PRId64, fault.name, fault.value);
    case FaultKind::kDivisor:
      return Status::failure(kCode, "%s%s is 0, and an integer divided by 0 has no value", fault.name,
                             PlaceText(fault.shape, fault.position).text);
  }
  return Status::failure(Code::kInternal, "the device reported an unknown fault");
}

}  // namespace halftone::cuda
