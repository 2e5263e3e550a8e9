// The gradient of normalised rows of two elements. It is nearly 0, as epsilon alone keeps the results from being 1 and
// -1, so that rounding decides it: the error must stay small beside the terms, also where the mean is large.
#include <cmath>
#include <functional>

#include "autograd/engine.h"
#include "autograd/leaf/accumulate_grad.h"
#include "ops/norm/norms.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr int64_t kPairs = 256;
constexpr double kEpsilon = 1e-5;

class NormOfTwo : public RoomTest {
 protected:
  // Numbers of FP32 near `offset`.
  Tensor numbers(double offset, double frequency, const Shape& shape) {
    std::vector<float> all;
    for (int64_t i = 0; i < 2 * kPairs; ++i)
      all.push_back(static_cast<float>(offset + std::sin(frequency * static_cast<double>(i * i))));
    return from_host(device(), DType::kF32, shape, all.data());
  }

  // `stride` is the distance of a pair's elements.
  void expect_exact(const std::function<Tensor(const Tensor&)>& norm, const Shape& shape, int64_t stride) {
    for (const double offset : {0.0, 10.0, 1000.0}) {
      const Tensor x = numbers(offset, 0.37, shape), grads = numbers(0, 0.91, shape);
      set_requires_grad(x, true);
      run_backward(norm(x), grads, false);
      const std::vector<double> in = values(x.detach()), g = values(grads), found = values(accumulator_of(x)->grad());
      for (int64_t pair = 0; pair < kPairs; ++pair) {
        const auto first = static_cast<size_t>(stride == 1 ? 2 * pair : pair),
                   second = first + static_cast<size_t>(stride);
        const double half = (in[first] - in[second]) / 2, rstd = 1 / std::sqrt(half * half + kEpsilon);
        const double slope = rstd * rstd * rstd * kEpsilon * (g[first] - g[second]) / 2;
        const double bound = 0x1p-21 * rstd * std::max(std::fabs(g[first]), std::fabs(g[second]));
        EXPECT_NEAR(found[first], slope, bound) << "offset " << offset << ", pair " << pair;
        EXPECT_NEAR(found[second], -slope, bound) << "offset " << offset << ", pair " << pair;
      }
    }
  }
};

TEST_F(NormOfTwo, TheGradientOfRowsIsThatOfEpsilon) {
  expect_exact([](const Tensor& x) { return ops::layer_norm(x, {2}, {}, {}, kEpsilon); }, {kPairs, 2}, 1);
  expect_exact([](const Tensor& x) { return ops::group_norm(x, 8, {}, {}, kEpsilon); }, {kPairs / 8, 16}, 1);
  expect_exact([](const Tensor& x) { return ops::instance_norm(x, {}, {}, kEpsilon); }, {kPairs / 8, 8, 2}, 1);
}

TEST_F(NormOfTwo, TheGradientOfColumnsIsThatOfEpsilon) {
  expect_exact([](const Tensor& x) { return ops::batch_norm(x, {}, {}, {}, {.training = true, .epsilon = kEpsilon}); },
               {2, kPairs}, kPairs);
}

}  // namespace
}  // namespace halftone
