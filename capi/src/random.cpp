#include "halftone/random.h"

#include "arguments.h"
#include "guard.h"
#include "nn/dropout.h"
#include "tensor/factory.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_dropout(htone_tensor* input, double p, int32_t training, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require_probability(p, "p");
    require(out, "out");  // before a random stream is taken
    wrap(out, ops::dropout(x, p, training != 0));
  });
}

htone_status htone_randperm(htone_device* device, int64_t n, htone_tensor** out) {
  return guard([&] {
    ContextDevice& target = unwrap(device, "device")->device;
    if (n < 0) fail(Code::kInvalidArgument, "n", "n=%lld, expected at least 0", static_cast<long long>(n));
    checked_shape(&n, 1, "n");
    require(out, "out");  // before a random stream is taken
    wrap(out, permutation(target, n, target.context->next_key()));
  });
}

htone_status htone_module_create_dropout(double p, htone_module** out) {
  return guard([&] {
    require_probability(p, "p");
    wrap(out, make_ref<nn::Dropout>(p));
  });
}
