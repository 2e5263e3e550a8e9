#include "halftone/init.h"

#include "base/call.h"
#include "nn/init.h"
#include "ops/dispatch/check.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

void require_fillable(const Tensor& tensor) {
  require_float(tensor, "tensor");
  require_writable(tensor, "tensor");
}

void init_uniform(const Tensor& tensor, double low, double high) {
  require_fillable(tensor);
  if (low >= high) fail(Code::kInvalidArgument, "high", "high=%g is not above low=%g", high, low);
  nn::init_uniform(tensor, low, high);
}

void init_normal(const Tensor& tensor, double mean, double std) {
  require_fillable(tensor);
  if (std < 0.0) fail(Code::kInvalidArgument, "std", "std=%g is negative", std);
  nn::init_normal(tensor, mean, std);
}

void init_bernoulli(const Tensor& tensor, double p) {
  require_writable(tensor, "tensor");
  nn::init_bernoulli(tensor, p);
}

}  // namespace

htone_status htone_init_uniform(htone_tensor* tensor, double low, double high) {
  return Call(init_uniform, tensor, as<finite_number>(low), as<finite_number>(high));
}

htone_status htone_init_normal(htone_tensor* tensor, double mean, double std) {
  return Call(init_normal, tensor, as<finite_number>(mean), as<finite_number>(std));
}

htone_status htone_init_bernoulli(htone_tensor* tensor, double p) {
  return Call(init_bernoulli, tensor, as<probability>(p));
}
