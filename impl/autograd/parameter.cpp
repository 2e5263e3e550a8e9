#include "autograd/parameter.h"

#include <utility>

#include "tensor/factory.h"

namespace halftone {

Parameter::Parameter(std::string name, Tensor master)
    : AccumulateGrad(master.device(), master.shape(), master.dtype()),
      name_(std::move(name)),
      master_(std::move(master)),
      shard_{.begin = 0, .end = master_.numel()} {}

Tensor Parameter::leaf() const {
  Tensor leaf = master_.detach();
  leaf.set_gradient_source(Ref<GradientSource>::share(const_cast<Parameter*>(this)));
  return leaf;
}

Tensor Parameter::read(DType dtype) const {
  if (dtype == master_.dtype()) return master_.detach();
  const bool current = compute_.defined() && compute_of_version_ == master_.storage()->version();
  if (current && dtype == compute_.dtype()) return compute_.detach();
  return converted(master_, dtype);
}

void Parameter::set_compute(Tensor compute) noexcept {
  compute_ = std::move(compute);
  compute_of_version_ = master_.storage()->version();
}

void Parameter::mark_updated() noexcept {
  master_.storage()->bump_version();
  if (compute_.defined()) compute_.storage()->bump_version();
  compute_of_version_ = master_.storage()->version();
}

Parameter* parameter_of(const Tensor& tensor) noexcept {
  AccumulateGrad* accumulator = accumulator_of(tensor);
  return accumulator != nullptr ? accumulator->as_parameter() : nullptr;
}

}  // namespace halftone
