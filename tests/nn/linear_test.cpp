#include "nn/linear.h"

#include <algorithm>
#include <cmath>

#include "autograd/weights/weights.h"
#include "nn/sequential.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone::nn {
namespace {

class LinearTest : public RoomTest {};

TEST_F(LinearTest, DrawsWeightsWithinTheBoundAndFillsTheRange) {
  const Linear layer(device(), 64, 512, true, DType::kF32);
  const double bound = 1.0 / 8.0;
  for (const NamedParameter& named : layer.parameters()) {
    const std::vector<double> drawn = values(named.parameter->weights().master());
    const auto [low, high] = std::minmax_element(drawn.begin(), drawn.end());
    EXPECT_GE(*low, -bound);
    EXPECT_LE(*high, bound);
    EXPECT_LT(*low, -0.9 * bound) << named.name;
    EXPECT_GT(*high, 0.9 * bound) << named.name;
    double sum = 0;
    for (double value : drawn) sum += value;
    // Five standard errors of the mean of uniform numbers.
    EXPECT_LT(std::fabs(sum / drawn.size()), 5 * bound / std::sqrt(3.0 * drawn.size())) << named.name;
  }
}

TEST_F(LinearTest, EveryLayerAndEveryTensorDrawsFromItsOwnStream) {
  const Linear first(device(), 4, 4, true, DType::kF32);
  const Linear second(device(), 4, 4, true, DType::kF32);
  EXPECT_NE(values(first.parameters()[0].parameter->weights().master()),
            values(second.parameters()[0].parameter->weights().master()));
}

TEST_F(LinearTest, OneSeedGivesOneModel) {
  const Linear here(device(), 4, 4, true, DType::kF32);
  const Ref<Context> other = make_ref<Context>(options());
  const Linear there(other->device("cpu"), 4, 4, true, DType::kF32);
  EXPECT_EQ(values(here.parameters()[0].parameter->weights().master()),
            values(there.parameters()[0].parameter->weights().master()));
}

TEST_F(LinearTest, NamesTellThePlaceInNestedSequentials) {
  std::vector<Ref<Module>> inner = {make_ref<Linear>(device(), 2, 3, false, DType::kF32)};
  std::vector<Ref<Module>> outer = {make_ref<Linear>(device(), 2, 2, true, DType::kF32),
                                    make_ref<Sequential>(std::move(inner))};
  const Sequential model(std::move(outer));
  std::vector<std::string> names;
  for (const NamedParameter& named : model.parameters()) names.push_back(named.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "1.0.weight"}));
}

}  // namespace
}  // namespace halftone::nn
