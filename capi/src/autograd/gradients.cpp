#include "halftone/gradients.h"

#include "autograd/engine.h"
#include "autograd/tensor_lists.h"
#include "base/call.h"
#include "tensor/handles.h"
#include "tensor/lent_tensors.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_gradients_options gradients_options(const htone_gradients_options* options) {
  return options_or_default(options, htone_gradients_options(HTONE_GRADIENTS_OPTIONS_INIT));
}

// Undefined tensors for NULL; none at all without the list.
std::vector<Tensor> output_gradients(size_t count, htone_tensor* const* gradients) {
  std::vector<Tensor> result;
  for (size_t i = 0; gradients != nullptr && i < count; ++i) {
    result.push_back(gradients[i] == nullptr ? Tensor() : hold(gradients[i], "gradients").reference());
  }
  return result;
}

Unused unused_of(const htone_gradients_options& options) {
  if (options.zeros_for_unused != 0) return Unused::kZeros;
  return options.allow_unused != 0 ? Unused::kUndefined : Unused::kError;
}

}  // namespace

htone_status htone_gradients(size_t output_count, htone_tensor* const* outputs, htone_tensor* const* gradients,
                             size_t input_count, htone_tensor* const* inputs, const htone_gradients_options* options,
                             htone_tensor** out_gradients) {
  return guard([&] {
    GradientsCall call;
    call.outputs = some_outputs(output_count, outputs);
    call.gradients = output_gradients(output_count, gradients);
    call.inputs = some_inputs(input_count, inputs);
    const htone_gradients_options given = gradients_options(options);
    require_memory(out_gradients, "out_gradients");
    call.retain_graph = given.retain_graph != 0;
    call.unused = unused_of(given);
    TensorHandles(run_gradients(call)).hand_over(out_gradients);
  });
}
