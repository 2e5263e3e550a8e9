#include "halftone/random.h"

#include "base/call.h"
#include "nn/dropout.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "ops/random/dropout.h"
#include "runtime/context.h"
#include "runtime/handles.h"
#include "tensor/factory.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// A count of elements, which must be countable in bytes.
int64_t element_count(int64_t n, ArgumentName name) {
  at_least(n, 0, name);
  checked_shape(&n, 1, "n");
  return n;
}

Tensor random_permutation(ContextDevice& device, int64_t n) {
  return permutation(device, n, device.context->next_key());
}

}  // namespace

htone_status htone_dropout(htone_tensor* input, double p, int32_t training, htone_tensor** out) {
  return Pure(ops::dropout, input, as<probability>(p), training, out);
}

htone_status htone_randperm(htone_device* device, int64_t n, htone_tensor** out) {
  return Call(random_permutation, device, as<element_count>(n), out);
}

htone_status htone_module_create_dropout(double p, htone_module** out) {
  return Call(make<nn::Dropout>, as<probability>(p), out);
}
