#include "halftone/random.h"

#include "arguments.h"
#include "guard.h"
#include "nn/dropout.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_dropout(htone_tensor* input, double p, int32_t training, htone_tensor** out) {
  return guard("htone_dropout(input, p, training, out)", [&] {
    const Tensor& x = unwrap(input, "input");
    require_probability(p, "p");
    require(out, "out");  // before a random stream is taken
    wrap(out, ops::dropout(x, p, training != 0));
  });
}

htone_status htone_module_create_dropout(double p, htone_module** out) {
  return guard("htone_module_create_dropout(p, out)", [&] {
    require_probability(p, "p");
    wrap(out, make_ref<nn::Dropout>(p));
  });
}
