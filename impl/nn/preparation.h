// Layers that bring raw data into the shape and range that others expect.
#pragma once

#include "core/error.h"
#include "nn/layer.h"
#include "ops/elementwise/elementwise.h"
#include "ops/shape/shape.h"

namespace halftone::nn {

// [n, ...] to [n, m].
class Flatten final : public Layer {
 public:
  const char* kind() const noexcept override { return "flatten"; }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Flatten>(*this); }
  Tensor forward(const Tensor& input) const override {
    if (input.rank() == 0) fail(Code::kShapeMismatch, "input", "input is a scalar, expected at least one dimension");
    if (input.rank() == 2) return input;
    const int64_t rows = input.size(0);
    int64_t columns = 1;  // spelled out, since -1 is undefined where rows is 0
    for (int i = 1; i < input.rank(); ++i) columns *= input.size(i);
    return ops::reshape(input, {rows, columns});
  }
};

// input * scale + offset, in floating point.
class Rescaling final : public Layer {
 public:
  Rescaling(double scale, double offset) : scale_(scale), offset_(offset) {}
  const char* kind() const noexcept override { return "rescaling"; }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Rescaling>(*this); }
  Tensor forward(const Tensor& input) const override { return ops::rescale(input, scale_, offset_); }

 private:
  double scale_;
  double offset_;
};

}  // namespace halftone::nn
