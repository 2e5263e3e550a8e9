// Layers that enlarge lines and images by whole factors: without parameters.
#pragma once

#include "nn/layer.h"
#include "ops/dispatch/op.h"

namespace halftone::nn {

class Upsample final : public Layer {
 public:
  // Over lines the height is not used.
  using Resize = Tensor (*)(const Tensor& input, int64_t result_h, int64_t result_w, bool align_corners);
  struct Scale {
    int64_t h;
    int64_t w;
  };

  Upsample(Op kind, Resize resize, Scale scale, bool align_corners)
      : kind_(kind), resize_(resize), scale_(scale), align_corners_(align_corners) {}
  const char* kind() const noexcept override { return name_of(kind_); }
  // The operation refuses an input without these dimensions.
  Tensor forward(const Tensor& input) const override {
    const auto size = [&](int from_end) { return input.rank() > from_end ? input.size(input.rank() - from_end) : 1; };
    return resize_(input, scaled(size(2), scale_.h), scaled(size(1), scale_.w), align_corners_);
  }

 private:
  // The operation refuses the largest number, which stands for all sizes beyond 64 bits.
  static int64_t scaled(int64_t size, int64_t scale) {
    int64_t result = 0;
    return __builtin_mul_overflow(size, scale, &result) ? INT64_MAX : result;
  }

  Op kind_;
  Resize resize_;
  Scale scale_;
  bool align_corners_;
};

}  // namespace halftone::nn
