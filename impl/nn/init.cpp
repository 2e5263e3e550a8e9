#include "nn/init.h"

#include <cmath>

#include "autograd/scope.h"
#include "autograd/weights/deferred_weights.h"
#include "core/error.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

// The connections of one output and of one input, as doubles: only quotients of them are used.
struct Fans {
  double in, out;
};

Fans fans_of(const Tensor& weight) {
  if (weight.rank() < 2) {
    fail(Code::kShapeMismatch, "tensor", "tensor %s has %d dimensions, expected at least 2",
         ShapeText(weight.shape()).text, weight.rank());
  }
  double window = 1.0;
  for (int i = 2; i < weight.rank(); ++i) window *= static_cast<double>(weight.size(i));
  return {.in = static_cast<double>(weight.size(1)) * window, .out = static_cast<double>(weight.size(0)) * window};
}

double fan_of(const Tensor& weight, FanMode mode) {
  const Fans fans = fans_of(weight);
  return mode == FanMode::kIn ? fans.in : fans.out;
}

double xavier_std(const Tensor& weight, double gain) {
  const Fans fans = fans_of(weight);
  return gain * std::sqrt(2.0 / (fans.in + fans.out));
}

// A uniform number in [-b, b) has the standard deviation b / sqrt(3).
void fill_uniform_of_std(const Tensor& weight, double std) {
  const double bound = std::sqrt(3.0) * std;
  if (weight.numel() > 0) init_uniform(weight, -bound, bound);
}

void fill_normal_of_std(const Tensor& weight, double std) {
  if (weight.numel() > 0) init_normal(weight, 0.0, std);
}

}  // namespace

void init_uniform(const Tensor& tensor, double low, double high) {
  fill_uniform(tensor, tensor.device().context->next_key(), low, high);
}

void init_normal(const Tensor& tensor, double mean, double std) {
  fill_normal(tensor, tensor.device().context->next_key(), mean, std);
}

void init_bernoulli(const Tensor& tensor, double p) { fill_bernoulli(tensor, tensor.device().context->next_key(), p); }

double gain_of(Nonlinearity nonlinearity, double negative_slope) {
  switch (nonlinearity) {
    case Nonlinearity::kLinear:
    case Nonlinearity::kSigmoid:
      return 1.0;
    case Nonlinearity::kTanh:
      return 5.0 / 3.0;
    case Nonlinearity::kRelu:
      return std::sqrt(2.0);
    case Nonlinearity::kLeakyRelu:
      return std::sqrt(2.0 / (1.0 + negative_slope * negative_slope));
    case Nonlinearity::kSelu:
      return 0.75;
  }
  return 1.0;
}

void init_kaiming_uniform(const Tensor& weight, FanMode mode, double gain) {
  fill_uniform_of_std(weight, gain / std::sqrt(fan_of(weight, mode)));
}

void init_kaiming_normal(const Tensor& weight, FanMode mode, double gain) {
  fill_normal_of_std(weight, gain / std::sqrt(fan_of(weight, mode)));
}

void init_xavier_uniform(const Tensor& weight, double gain) { fill_uniform_of_std(weight, xavier_std(weight, gain)); }

void init_xavier_normal(const Tensor& weight, double gain) { fill_normal_of_std(weight, xavier_std(weight, gain)); }

Ref<Parameter> filled_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                WeightFill fill) {
  if (scope().defers_weights) {
    return make_ref<Parameter>(name, empty_without_memory(device, dtype, shape, Category::kParameters),
                               std::move(fill));
  }
  Tensor master = empty(device, dtype, shape, Category::kParameters);
  fill(master);
  return make_ref<Parameter>(name, std::move(master));
}

Ref<Parameter> uniform_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                 double bound) {
  const PhiloxKey key = device.context->next_key();
  return filled_parameter(device, name, dtype, shape,
                          [key, bound](const Tensor& weights) { fill_uniform(weights, key, -bound, bound); });
}

Ref<Parameter> normal_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape, double std) {
  const PhiloxKey key = device.context->next_key();
  return filled_parameter(device, name, dtype, shape,
                          [key, std](const Tensor& weights) { fill_normal(weights, key, 0.0, std); });
}

Ref<Parameter> constant_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                  double value) {
  return filled_parameter(device, name, dtype, shape, [value](const Tensor& weights) { fill(weights, value); });
}

}  // namespace halftone::nn
