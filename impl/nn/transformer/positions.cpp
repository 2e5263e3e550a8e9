#include "nn/transformer/positions.h"

#include "core/error.h"
#include "ops/dispatch/check.h"

namespace halftone::nn {

void require_token_positions(const Tensor& positions, const Tensor& sequence) {
  if (positions.dtype() != DType::kI64 && positions.dtype() != DType::kI32) {
    fail(Code::kDtypeMismatch, "positions", "positions is %s, expected i64 or i32", name_of(positions.dtype()));
  }
  bool fits = positions.rank() == 1 || positions.rank() == 2;
  for (int i = 1; fits && i <= positions.rank(); ++i) {
    const int64_t size = positions.size(positions.rank() - i);
    fits = size == 1 || size == sequence.size(2 - i);
  }
  if (!fits) {
    fail(Code::kShapeMismatch, "positions", "positions %s, expected to broadcast to [%lld, %lld]",
         ShapeText(positions.shape()).text, static_cast<long long>(sequence.size(0)),
         static_cast<long long>(sequence.size(1)));
  }
  require_same_device(sequence, "input", positions, "positions");
}

}  // namespace halftone::nn
