#include "nn/init.h"

#include "tensor/factory.h"

namespace halftone::nn {

void init_uniform(const Tensor& tensor, double low, double high) {
  fill_uniform(tensor, tensor.device().context->next_key(), low, high);
}

void init_normal(const Tensor& tensor, double mean, double std) {
  fill_normal(tensor, tensor.device().context->next_key(), mean, std);
}

void init_bernoulli(const Tensor& tensor, double p) { fill_bernoulli(tensor, tensor.device().context->next_key(), p); }

Ref<Parameter> uniform_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                 double bound) {
  Tensor master = empty(device, dtype, shape, Category::kParameters);
  init_uniform(master, -bound, bound);
  return make_ref<Parameter>(name, std::move(master));
}

}  // namespace halftone::nn
