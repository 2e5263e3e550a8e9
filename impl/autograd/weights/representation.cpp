#include "autograd/weights/representation.h"

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

WeightRepresentation split_representation(const Weights& weights) {
  const Tensor& kept = weights.kept();
  if (weights.is_split()) return {.kept = kept, .copy = {}, .remainder = weights.remainder()};
  ContextDevice& device = kept.device();
  WeightRepresentation made = {.kept = empty(device, DType::kBF16, kept.shape(), Category::kParameters),
                               .copy = {},
                               .remainder = empty(device, DType::kI16, kept.shape(), Category::kOptimizer)};
  launch("split_master", device, &Kernels::optim, &OptimKernels::split_master, kept.view(), made.kept.view(),
         made.remainder.view());
  return made;
}

WeightRepresentation whole_representation(const Weights& weights, DType compute_dtype) {
  WeightRepresentation made = {
      .kept = weights.is_split() ? weights.joined(Category::kParameters) : weights.kept(), .copy = {}, .remainder = {}};
  // Sharded weights are gathered in the dtype that operations want, so a copy of the shard has no reader.
  if (compute_dtype != DType::kF32 && !weights.is_sharded()) {
    made.copy = converted(made.kept, compute_dtype, Category::kParameters);
  }
  return made;
}

WeightRepresentation narrow_representation(const Weights& weights, DType dtype) {
  const Tensor wide = weights.is_split() ? weights.joined(Category::kActivations) : weights.kept();
  if (wide.dtype() == dtype) return {.kept = wide, .copy = {}, .remainder = {}};
  return {.kept = converted(wide, dtype, Category::kParameters), .copy = {}, .remainder = {}};
}

}  // namespace halftone
