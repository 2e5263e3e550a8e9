#include "halftone/init.h"

#include "base/call.h"
#include "nn/init.h"
#include "ops/dispatch/check.h"
#include "tensor/handles.h"

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

static_assert(static_cast<int32_t>(nn::FanMode::kIn) == HTONE_FAN_IN);
static_assert(static_cast<int32_t>(nn::FanMode::kOut) == HTONE_FAN_OUT);
static_assert(static_cast<int32_t>(nn::Nonlinearity::kLinear) == HTONE_NONLINEARITY_LINEAR);
static_assert(static_cast<int32_t>(nn::Nonlinearity::kSelu) == HTONE_NONLINEARITY_SELU);

nn::FanMode fan_mode(htone_fan_mode mode, ArgumentName name) {
  if (mode == HTONE_FAN_IN || mode == HTONE_FAN_OUT) return static_cast<nn::FanMode>(mode);
  fail(Code::kInvalidArgument, name.text(), "mode=%d, expected HTONE_FAN_IN or HTONE_FAN_OUT", mode);
}

nn::Nonlinearity checked_nonlinearity(htone_nonlinearity nonlinearity, ArgumentName name) {
  if (nonlinearity < HTONE_NONLINEARITY_LINEAR || nonlinearity > HTONE_NONLINEARITY_SELU) {
    fail(Code::kInvalidArgument, name.text(), "nonlinearity=%d, expected one of HTONE_NONLINEARITY_...", nonlinearity);
  }
  return static_cast<nn::Nonlinearity>(nonlinearity);
}

double not_negative_number(double value, ArgumentName name) {
  if (!(value >= 0.0)) fail(Code::kInvalidArgument, name.text(), "%s=%g, expected at least 0", name.text(), value);
  return finite_number(value, name);
}

void init_kaiming_uniform(const Tensor& tensor, nn::FanMode mode, nn::Nonlinearity nonlinearity, double slope) {
  require_fillable(tensor);
  nn::init_kaiming_uniform(tensor, mode, nn::gain_of(nonlinearity, slope));
}

void init_kaiming_normal(const Tensor& tensor, nn::FanMode mode, nn::Nonlinearity nonlinearity, double slope) {
  require_fillable(tensor);
  nn::init_kaiming_normal(tensor, mode, nn::gain_of(nonlinearity, slope));
}

// Fills a weight by a rule with a gain.
template <auto rule>
void init_with_gain(const Tensor& tensor, double gain) {
  require_fillable(tensor);
  rule(tensor, gain);
}

void init_truncated_normal(const Tensor& tensor, double mean, double std, double low, double high) {
  require_fillable(tensor);
  if (low > high) fail(Code::kInvalidArgument, "high", "high=%g is below low=%g", high, low);
  nn::init_truncated_normal(tensor, {.mean = mean, .std = std, .low = low, .high = high});
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

htone_status htone_init_gain(htone_nonlinearity nonlinearity, double negative_slope, double* out_gain) {
  return Pure(nn::gain_of, as<checked_nonlinearity>(nonlinearity), as<finite_number>(negative_slope), out_gain);
}

htone_status htone_init_kaiming_uniform(htone_tensor* tensor, htone_fan_mode mode, htone_nonlinearity nonlinearity,
                                        double negative_slope) {
  return Call(init_kaiming_uniform, tensor, as<fan_mode>(mode), as<checked_nonlinearity>(nonlinearity),
              as<finite_number>(negative_slope));
}

htone_status htone_init_kaiming_normal(htone_tensor* tensor, htone_fan_mode mode, htone_nonlinearity nonlinearity,
                                       double negative_slope) {
  return Call(init_kaiming_normal, tensor, as<fan_mode>(mode), as<checked_nonlinearity>(nonlinearity),
              as<finite_number>(negative_slope));
}

htone_status htone_init_xavier_uniform(htone_tensor* tensor, double gain) {
  return Call(init_with_gain<nn::init_xavier_uniform>, tensor, as<not_negative_number>(gain));
}

htone_status htone_init_xavier_normal(htone_tensor* tensor, double gain) {
  return Call(init_with_gain<nn::init_xavier_normal>, tensor, as<not_negative_number>(gain));
}

htone_status htone_init_truncated_normal(htone_tensor* tensor, double mean, double std, double low, double high) {
  return Call(init_truncated_normal, tensor, as<finite_number>(mean), as<not_negative_number>(std),
              as<finite_number>(low), as<finite_number>(high));
}

htone_status htone_init_orthogonal(htone_tensor* tensor, double gain) {
  return Call(init_with_gain<nn::init_orthogonal>, tensor, as<finite_number>(gain));
}
