#include "ops/reduce/min_max.h"

#include "core/error.h"
#include "tensor/launch.h"

namespace halftone {

Reduced apply_min_max(const MinMaxKind& kind, const Tensor& input, const Reduction& reduction, const char* argument) {
  if (reduction.count == 0) {
    fail(Code::kInvalidArgument, argument, "%s of input %s: these dimensions have no element to choose from", argument,
         ShapeText(input.shape()).text);
  }
  Reduced reduced = empty_reduced(input, reduction, input.dtype());
  launch(kind.name(), input.device(), &Kernels::reduce, &ReduceKernels::min_max, kind.which, input.view(),
         reduced.kept);
  return reduced;
}

}  // namespace halftone
