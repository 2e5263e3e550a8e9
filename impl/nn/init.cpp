#include "nn/init.h"

#include "tensor/factory.h"

namespace halftone::nn {

namespace {

PhiloxKey next_key(Context& context) { return {.seed = context.seed(), .stream = context.next_stream()}; }

}  // namespace

void init_uniform(const Tensor& tensor, double low, double high) {
  fill_uniform(tensor, next_key(*tensor.device().context), low, high);
}

void init_normal(const Tensor& tensor, double mean, double std) {
  fill_normal(tensor, next_key(*tensor.device().context), mean, std);
}

Ref<Parameter> uniform_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                 double bound) {
  Tensor master = empty(device, dtype, shape, Category::kParameters);
  init_uniform(master, -bound, bound);
  return make_ref<Parameter>(name, std::move(master));
}

}  // namespace halftone::nn
