#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/workspace.h"
#include "ops/select/select.h"
#include "ops/shape/stride.h"
#include "runtime/context.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

void require_draws(const Tensor& probabilities, int64_t num_samples, bool replacement) {
  require_float(probabilities, "probabilities");
  const int rank = probabilities.rank();
  if (rank != 1 && rank != 2) {
    fail(Code::kShapeMismatch, "probabilities", "probabilities %s has %d dimensions, expected 1 or 2",
         ShapeText(probabilities.shape()).text, rank);
  }
  const int64_t categories = probabilities.size(rank - 1);
  if (categories == 0) {
    fail(Code::kShapeMismatch, "probabilities", "probabilities %s has no categories",
         ShapeText(probabilities.shape()).text);
  }
  if (num_samples < 1) {
    fail(Code::kInvalidArgument, "num_samples", "num_samples=%lld, expected at least 1",
         static_cast<long long>(num_samples));
  }
  if (!replacement && num_samples > categories) {
    fail(Code::kInvalidArgument, "num_samples",
         "num_samples=%lld, expected at most %lld, the categories of probabilities %s, without replacement",
         static_cast<long long>(num_samples), static_cast<long long>(categories),
         ShapeText(probabilities.shape()).text);
  }
}

}  // namespace

Tensor multinomial(const Tensor& probabilities, int64_t num_samples, bool replacement) {
  require_draws(probabilities, num_samples, replacement);
  ContextDevice& device = probabilities.device();
  const SelectKernels& select = device.device->kernels().select;
  if (select.draw_categories == nullptr || select.draw_workspace == nullptr) {
    fail_not_implemented("multinomial", *device.device);
  }
  const TraceSpan span(TraceKind::kOperation, "multinomial");
  Shape shape = probabilities.shape();
  const int64_t rows = shape.rank() == 1 ? 1 : shape[0];
  const Tensor weights = reshaped(probabilities, {rows, shape[shape.rank() - 1]});
  shape[shape.rank() - 1] = num_samples;
  Tensor result = empty(device, DType::kI64, checked_shape(shape.begin(), shape.rank(), "num_samples"));
  const CategoryDraws draws = {.key = device.context->next_key(), .replaces = replacement};
  Stream& stream = current_stream(device);
  const Workspace workspace(device, select.draw_workspace(stream, weights.view()));
  const Status status = select.draw_categories(stream, draws, weights.view(), workspace.data(),
                                               reshaped(result, {rows, num_samples}).view());
  if (!status.ok()) fail(status.code, "probabilities", "%s", status.message);
  return result;
}

}  // namespace halftone::ops
