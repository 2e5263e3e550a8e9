#include "halftone/init.h"

#include "arguments.h"
#include "guard.h"
#include "nn/init.h"
#include "ops/check.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

const Tensor& fillable(htone_tensor* tensor) {
  const Tensor& target = unwrap(tensor, "tensor");
  require_float(target, "tensor");
  require_writable(target, "tensor");
  return target;
}

}  // namespace

htone_status htone_init_uniform(htone_tensor* tensor, double low, double high) {
  return guard([&] {
    const Tensor& target = fillable(tensor);
    require_finite(low, "low");
    require_finite(high, "high");
    if (low >= high) fail(Code::kInvalidArgument, "high", "high=%g is not above low=%g", high, low);
    nn::init_uniform(target, low, high);
  });
}

htone_status htone_init_normal(htone_tensor* tensor, double mean, double std) {
  return guard([&] {
    const Tensor& target = fillable(tensor);
    require_finite(mean, "mean");
    require_finite(std, "std");
    if (std < 0.0) fail(Code::kInvalidArgument, "std", "std=%g is negative", std);
    nn::init_normal(target, mean, std);
  });
}

htone_status htone_init_bernoulli(htone_tensor* tensor, double p) {
  return guard([&] {
    const Tensor& target = unwrap(tensor, "tensor");
    require_writable(target, "tensor");
    require_probability(p, "p");
    nn::init_bernoulli(target, p);
  });
}
