// Random initialisation of tensors and parameters; each fill takes the next stream of its context.
#pragma once

#include "autograd/parameter.h"
#include "autograd/weights/deferred_weights.h"

namespace halftone::nn {

void init_uniform(const Tensor& tensor, double low, double high);
void init_normal(const Tensor& tensor, double mean, double std);
void init_bernoulli(const Tensor& tensor, double p);

// The number of connections of a weight [out, in, ...] that an initialisation keeps the variance for.
enum class FanMode { kIn, kOut };
enum class Nonlinearity { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kSelu };
// The factor on the standard deviation of weights before a nonlinearity.
double gain_of(Nonlinearity nonlinearity, double negative_slope);

// Each of these throws SHAPE_MISMATCH naming "tensor" for fewer than two dimensions, and leaves an empty tensor alone.
void init_kaiming_uniform(const Tensor& weight, FanMode mode, double gain);
void init_kaiming_normal(const Tensor& weight, FanMode mode, double gain);
void init_xavier_uniform(const Tensor& weight, double gain);
void init_xavier_normal(const Tensor& weight, double gain);
void init_orthogonal(const Tensor& weight, double gain);

// Normal numbers in [low, high].
struct TruncatedNormal {
  double mean, std, low, high;
};
void init_truncated_normal(const Tensor& tensor, const TruncatedNormal& distribution);

// A new parameter that `fill` writes: at once, or when it is first needed if this thread's scope defers weights.
Ref<Parameter> filled_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                WeightFill fill);
// A new parameter drawn from U(-bound, bound).
Ref<Parameter> uniform_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                 double bound);
// A new parameter drawn from N(0, std).
Ref<Parameter> normal_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape, double std);
Ref<Parameter> constant_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                  double value);

}  // namespace halftone::nn
