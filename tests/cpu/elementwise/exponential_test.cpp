#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/exponential_test.cpp"
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "instruction_sets.h"
//
#include "cpu/math/exponential.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

void exponentials(const std::vector<float>& x, std::vector<float>& out) {
  const hn::ScalableTag<float> d;
  for_each_vector(
      d, static_cast<int64_t>(x.size()), [&](auto value) HWY_ATTR { return exponential(d, value); }, out.data(),
      x.data());
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(exponentials);

namespace {

// Distance in FP32 units in the last place at `expected`; all subnormals have the same unit.
double ulps(float actual, double expected) {
  const int exponent = std::max(expected > 0 ? std::ilogb(expected) : -126, -126);
  return std::fabs(actual - expected) / std::ldexp(1.0, exponent - 23);
}

void expect_close(const std::vector<float>& x, const std::vector<float>& result) {
  double worst = 0;
  float worst_x = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(static_cast<double>(x[i]));
    if (std::isnan(x[i])) {
      ASSERT_TRUE(std::isnan(result[i]));
    } else if (std::isinf(static_cast<float>(expected))) {
      ASSERT_EQ(result[i], INFINITY) << x[i];
    } else if (ulps(result[i], expected) > worst) {
      worst = ulps(result[i], expected);
      worst_x = x[i];
    }
  }
  EXPECT_LE(worst, 1.1) << "at " << worst_x;
}

TEST(Exponential, IsWithinItsUlpsOverAllOfFloat) {
  std::vector<float> x;
  for (uint64_t word = 0; word < uint64_t{1} << 32; word += 1021) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(word)));
  }
  for_each_instruction_set([&] {
    std::vector<float> result(x.size());
    HWY_DYNAMIC_DISPATCH(exponentials)(x, result);
    expect_close(x, result);
  });
}

TEST(Exponential, MeetsItsCases) {
  const std::vector<float> x = {0,    -0.0f,  INFINITY, -INFINITY, 88.72283f, 88.722847f,
                                1000, -87.5f, -103.97f, -104,      -1e30f};
  for_each_instruction_set([&] {
    std::vector<float> result(x.size());
    HWY_DYNAMIC_DISPATCH(exponentials)(x, result);
    EXPECT_EQ(result[0], 1);
    EXPECT_EQ(result[1], 1);
    EXPECT_EQ(result[2], INFINITY);
    EXPECT_EQ(result[3], 0);
    EXPECT_TRUE(std::isfinite(result[4]));
    EXPECT_EQ(result[5], INFINITY);
    EXPECT_EQ(result[6], INFINITY);
    EXPECT_GT(result[7], 0);
    EXPECT_EQ(result[8], 0x1p-149f);
    EXPECT_EQ(result[9], 0);
    EXPECT_EQ(result[10], 0);
  });
}

}  // namespace
}  // namespace halftone::cpu
#endif  // HWY_ONCE
