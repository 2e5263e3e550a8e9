#include "cuda/base/fault.h"

#include <cinttypes>
#include <cstdio>

namespace halftone::cuda {
namespace {

// The position of element i in the tensor; empty for a scalar.
struct PlaceText {
  PlaceText(const Shape& shape, int64_t i) {
    if (shape.rank() == 0) return;
    Shape place = shape;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      place[d] = i % shape[d];
      i /= shape[d];
    }
    std::snprintf(text, sizeof text, "%s", ShapeText(place).text);
  }
  char text[sizeof ShapeText::text] = "";
};

}  // namespace

Fault possible_fault(FaultKind kind, const char* name, const Shape& shape, int64_t bound) noexcept {
  Fault fault;
  fault.kind = kind;
  std::snprintf(fault.name, sizeof fault.name, "%s", name);
  fault.shape = shape;
  fault.bound = bound;
  return fault;
}

Status status_of(const Fault& fault) noexcept {
  return Status::failure(Code::kInvalidArgument, "%s%s=%" PRId64 " is outside [0, %" PRId64 ")", fault.name,
                         PlaceText(fault.shape, fault.position).text, fault.value, fault.bound);
}

}  // namespace halftone::cuda
