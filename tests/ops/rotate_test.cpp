// The random Hadamard transform: orthogonal, and equal for both factors of a product.
#include "ops/scaled/rotate.h"

#include <cmath>

#include "room_fixture.h"

namespace halftone {
namespace {

using Values = std::vector<double>;

class RotateTest : public RoomTest {
 protected:
  static constexpr PhiloxKey kKey = {.seed = 3, .sequence = 5};

  Tensor wave(const Shape& shape, double frequency) {
    Values values(static_cast<size_t>(numel(shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(frequency * static_cast<double>(i));
    return tensor(shape, values);
  }
  static double dot(const Values& a, const Values& b, size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += a[i] * b[i];
    return sum;
  }
};

TEST_F(RotateTest, KeepsTheProductOfTwoRows) {
  const Tensor a = wave({3, 40}, 0.7), b = wave({3, 40}, 1.3);
  const Values turned_a = values(ops::rotated(a, kKey)), turned_b = values(ops::rotated(b, kKey));
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_NEAR(dot(turned_a, turned_b, 40 * row, 40 * row + 40), dot(values(a), values(b), 40 * row, 40 * row + 40),
                1e-5);
  }
  for (size_t i = 0; i < 120; ++i) EXPECT_EQ(turned_a[i] == values(a)[i], i % 40 >= 32) << i;
}

TEST_F(RotateTest, SpreadsOneNumberOverItsBlock) {
  Values one(48, 0.0);
  one[20] = 4;
  const Values turned = values(ops::rotated(tensor({1, 48}, one), kKey));
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(std::abs(turned[i]), i / 16 == 1 ? 1.0 : 0.0) << i;
}

TEST_F(RotateTest, OfATransposedViewIsThatOfTheCopy) {
  const Tensor x = wave({33, 20}, 0.9);
  const Tensor view = x.as_strided({20, 33}, {1, 20}, x.offset());
  EXPECT_EQ(values(ops::rotated(view, kKey)), values(ops::rotated(contiguous(view), kKey)));
  EXPECT_NE(values(ops::rotated(view, kKey)), values(ops::rotated(view, {.seed = 4, .sequence = 5})));
}

}  // namespace
}  // namespace halftone
