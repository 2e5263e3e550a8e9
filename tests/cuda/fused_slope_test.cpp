// The backward of activation_linear on a CUDA device whose products may end in cuBLASLt's GELU.
#include <cmath>

#include "autograd/engine.h"
#include "autograd/leaf/accumulate_grad.h"
#include "cuda_device.h"
#include "ops/matmul/matmul.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class FusedSlope : public RoomTest {
 protected:
  ContextDevice& cuda() { return cuda_device(context()); }

  Tensor ramp(const Shape& shape, double scale) {
    std::vector<float> numbers(static_cast<size_t>(numel(shape)));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(scale * (static_cast<double>(i % 13) - 6));
    return converted(from_host(cuda(), DType::kF32, shape, numbers.data()), DType::kBF16);
  }

  struct Outcome {
    std::vector<double> gradient;
    int64_t work;  // that backward queued
  };
  // The gradient is that of the argument; the weight needs none.
  Outcome argument_gradient(bool fuses, GemmActivation activation) {
    EXPECT_TRUE(cuda().device->set_option(DeviceOption::kFusedGelu, fuses ? 1 : 0).ok());
    const Tensor argument = ramp({48, 64}, 0.25);
    set_requires_grad(argument, true);
    const Tensor result = ops::activation_linear(argument, ramp({40, 64}, 0.125), Tensor(), activation);
    const Tensor gradient = ramp({48, 40}, 0.5);
    const auto queued = emulation_function<int64_t()>("cuda_emulation_queued");
    const int64_t before = queued();
    run_backward(result, gradient, false);
    const int64_t work = queued() - before;
    return {values(accumulator_of(argument)->grad()), work};
  }
};

TEST_F(FusedSlope, IsPartOfTheProductWhereTheOptionIsOn) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated device counts its work";
  const Outcome apart = argument_gradient(false, GemmActivation::kGeluTanh);
  const Outcome fused = argument_gradient(true, GemmActivation::kGeluTanh);
  EXPECT_EQ(fused.work, apart.work - 1);
  ASSERT_EQ(fused.gradient.size(), apart.gradient.size());
  // One rounding to BF16 for two, each of at most 2^-9 of the number.
  for (size_t i = 0; i < apart.gradient.size(); ++i) {
    EXPECT_NEAR(fused.gradient[i], apart.gradient[i], 0x1p-7 * std::fabs(apart.gradient[i]) + 0x1p-20) << i;
  }
}

TEST_F(FusedSlope, IsApartForActivationsThatCublasltLacks) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated device counts its work";
  const Outcome apart = argument_gradient(false, GemmActivation::kSilu);
  const Outcome other = argument_gradient(true, GemmActivation::kSilu);
  EXPECT_EQ(other.work, apart.work);
  EXPECT_EQ(other.gradient, apart.gradient);
}

}  // namespace
}  // namespace halftone
