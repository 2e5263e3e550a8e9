// Powers by one exponent, which no dtype of the input may round: a large logarithm of the base would multiply its
// error.
#include <cmath>
#include <cstdio>

#include "core/type_list.h"
#include "instruction_sets.h"
#include "ops/ops.h"
#include "room_fixture.h"
#include "ulps.h"

namespace halftone {
namespace {

constexpr double kExponents[] = {1.7, 0.3, -0.3, 0.1, -1.5, 3, 2};
constexpr double kSlope = 0.75;  // of the loss by each result

class PowScalar : public RoomTest {
 protected:
  // Bases of both ends of the range of T, whose powers and slopes lie in it.
  template <class T>
  static std::vector<double> bases(double exponent) {
    const double reach = 0.9 * std::numeric_limits<T>::max_exponent / (std::fabs(exponent) + 1);
    std::vector<double> result;
    for (int i = 0; i <= 400; ++i) result.push_back(static_cast<T>(std::exp2(reach * (i - 200) / 200)));
    return result;
  }

  template <class T>
  void expect_within(double exponent, double value_ulps, double gradient_ulps) {
    const DType dtype = dtype_of<T>;
    const std::vector<double> x = bases<T>(exponent);
    const int64_t count = static_cast<int64_t>(x.size());
    const Tensor base = leaf({count}, x, dtype);
    const Tensor result = ops::pow_scalar(base, exponent);
    run_backward(result, tensor({count}, std::vector<double>(x.size(), kSlope), dtype), false);
    const std::vector<double> power = values(result), slope = grad(base);
    double value_worst = 0, gradient_worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double wide = x[i], y = exponent;
      value_worst = std::max(value_worst, ulps<T>(power[i], std::pow(wide, y)));
      gradient_worst = std::max(gradient_worst, ulps<T>(slope[i], kSlope * y * std::pow(wide, y - 1)));
    }
    EXPECT_LE(value_worst, value_ulps) << "x^" << exponent << " in " << name_of(dtype);
    EXPECT_LE(gradient_worst, gradient_ulps) << "slope of x^" << exponent << " in " << name_of(dtype);
  }
};

// N12
TEST_F(PowScalar, IsWithinItsUlpsWithItsGradientForAnyExponent) {
  for_each_instruction_set([&] {
    for (const double exponent : kExponents) expect_within<float>(exponent, 0.6, 0.6);
    if (kHasWideReference) {
      for (const double exponent : kExponents) expect_within<double>(exponent, 1, 4);
    } else {
      std::printf("skipped: f64, since long double has no more digits than double\n");
    }
  });
}

TEST_F(PowScalar, OfAZeroExponentHasNoSlopeWhateverTheBaseIs) {
  const Tensor base = leaf({4}, {0, NAN, INFINITY, -2});
  const Tensor result = ops::pow_scalar(base, 0);
  EXPECT_EQ(values(result), (std::vector<double>{1, 1, 1, 1}));
  run_backward(result, tensor({4}, {1, INFINITY, 1, 1}), false);
  EXPECT_EQ(grad(base), (std::vector<double>{0, 0, 0, 0}));
}

TEST_F(PowScalar, MeetsTheCasesOfTheCLibraryForEveryKindOfExponent) {
  const std::vector<double> x = {0, -0.0, 2, -2, 1, -1, INFINITY, -INFINITY, NAN};
  for_each_instruction_set([&] {
    for (const double y : {0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 1e300, -1e300}) {
      const std::vector<double> result = values(ops::pow_scalar(tensor({9}, x), y));
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = std::pow(x[i], y);
        EXPECT_TRUE(std::isnan(expected) ? std::isnan(result[i])
                                         : ulps<float>(result[i], expected) < 1 || result[i] == expected)
            << x[i] << "^" << y << " is " << result[i];
        if (!std::isnan(expected)) {
          EXPECT_EQ(std::signbit(result[i]), std::signbit(expected)) << x[i] << "^" << y;
        }
      }
    }
  });
}

}  // namespace
}  // namespace halftone
