#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "backend/formula/weight_tree.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"

namespace halftone {
namespace {

constexpr PhiloxKey kKey = {.seed = 3, .sequence = 1};

Status draw(const HostTensor& weights, bool replaces, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  std::vector<double> workspace(cpu::kSelectKernels.draw_workspace(stream, weights.view()) / sizeof(double));
  return cpu::kSelectKernels.draw_categories(stream, {.key = kKey, .replaces = replaces}, weights.view(),
                                             workspace.data(), out.view());
}

HostTensor weights_of(const std::vector<double>& values) {
  HostTensor weights(DType::kF64, {1, static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) weights.set(static_cast<int64_t>(i), values[i]);
  return weights;
}

// Counts of 100000 draws are within five standard deviations of their mean.
TEST(DrawCategories, FollowsTheWeights) {
  const std::vector<double> weights = {1, 0, 2, 5, 0, 1.5, 0.5};
  constexpr int64_t kCount = 100000;
  HostTensor out(DType::kI64, {1, kCount});
  ASSERT_TRUE(draw(weights_of(weights), true, out).ok());
  std::vector<double> counts(weights.size());
  for (int64_t i = 0; i < kCount; ++i) counts[static_cast<size_t>(out.get(i))] += 1;
  for (size_t c = 0; c < weights.size(); ++c) {
    const double p = weights[c] / 10;
    EXPECT_NEAR(counts[c], kCount * p, 5 * std::sqrt(kCount * p * (1 - p))) << c;
  }
}

// The second of two draws without replacement is category j with the probability sum over i of p(i) p(j) / (1 - p(i)).
TEST(DrawCategories, FollowsTheWeightsThatAreLeft) {
  const std::vector<double> p = {0.1, 0.2, 0.7};
  constexpr int64_t kRows = 60000;
  HostTensor weights(DType::kF32, {kRows, 3}, {0, 1});
  for (int64_t c = 0; c < 3; ++c) weights.set(c, p[static_cast<size_t>(c)]);
  HostTensor out(DType::kI64, {kRows, 2});
  ASSERT_TRUE(draw(weights, false, out, 2).ok());
  std::vector<double> counts(3);
  for (int64_t r = 0; r < kRows; ++r) {
    ASSERT_NE(out.get(2 * r), out.get(2 * r + 1));
    counts[static_cast<size_t>(out.get(2 * r + 1))] += 1;
  }
  for (size_t j = 0; j < 3; ++j) {
    double expected = 0;
    for (size_t i = 0; i < 3; ++i) expected += i == j ? 0 : p[i] * p[j] / (1 - p[i]);
    EXPECT_NEAR(counts[j], kRows * expected, 5 * std::sqrt(kRows * expected * (1 - expected))) << j;
  }
}

TEST(DrawCategories, DrawsAllWithoutReplacementAndNoneOfWeightZero) {
  std::vector<double> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? 0 : 1e-300 * static_cast<double>(i);
  HostTensor out(DType::kI64, {1, 666});
  ASSERT_TRUE(draw(weights_of(values), false, out).ok());
  std::set<int64_t> found;
  for (int64_t i = 0; i < out.numel(); ++i) {
    found.insert(static_cast<int64_t>(out.get(i)));
    EXPECT_NE(static_cast<int64_t>(out.get(i)) % 3, 0);
  }
  EXPECT_EQ(found.size(), 666u);
}

TEST(DrawCategories, GivesTheSameDrawsOnAnyNumberOfThreads) {
  HostTensor weights(DType::kF16, {40, 1000}, {1, 41});
  weights.fill_uniform(0, 1, 9);
  for (const bool replaces : {false, true}) {
    HostTensor one(DType::kI64, {40, 300}), many(DType::kI64, {40, 300});
    ASSERT_TRUE(draw(weights, replaces, one, 1).ok());
    ASSERT_TRUE(draw(weights, replaces, many, 7).ok());
    EXPECT_EQ(one.bytes(), many.bytes());
    EXPECT_TRUE(many.guards_hold());
  }
}

void expect_refused(const std::vector<double>& weights, bool replaces, int64_t draws, const char* message) {
  HostTensor out(DType::kI64, {1, draws});
  const Status status = draw(weights_of(weights), replaces, out);
  EXPECT_EQ(status.code, Code::kInvalidArgument);
  EXPECT_STREQ(status.ok() ? "" : status.message, message);
}

TEST(DrawCategories, RefusesRowsThatAllowNoDraw) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_refused({1, -0.5}, true, 1, "probabilities has -0.5 at 1 of row 0, expected finite numbers of at least 0");
  expect_refused({kInfinity}, true, 1, "probabilities has inf at 0 of row 0, expected finite numbers of at least 0");
  expect_refused({1, NAN}, false, 1, "probabilities has nan at 1 of row 0, expected finite numbers of at least 0");
  expect_refused({0, 0}, true, 1, "probabilities has 0 above 0 in row 0, expected at least 1");
  expect_refused({0, 1, 2}, false, 3, "probabilities has 2 above 0 in row 0, expected at least 3");
  expect_refused({1e308, 1e308}, true, 1, "probabilities has a sum beyond f64 in row 0");
}

// The first row with a fault is reported, whatever thread finds one first.
TEST(DrawCategories, NamesTheFirstFault) {
  HostTensor weights(DType::kF32, {200, 4000});
  weights.fill_uniform(0, 1, 2);
  for (const int64_t row : {37, 38, 150}) weights.set(row * 4000 + 5, -1);
  HostTensor out(DType::kI64, {200, 1});
  const Status status = draw(weights, true, out, 4);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message).find("row 37"), std::string::npos) << status.message;
}

// Shares that rounding could carry beyond the last category with weight.
TEST(WeightTree, NeverFindsACategoryWithoutWeight) {
  for (const std::vector<double>& weights :
       {std::vector<double>{0, 0.1, 0, 0.3, 0}, {0, 0, 1e-320}, {0.7, 0.1, 0.1, 0.1, 0, 0, 0}, {1}}) {
    const int64_t leaves = WeightTree::leaves_for(static_cast<int64_t>(weights.size()));
    std::vector<double> nodes(static_cast<size_t>(2 * leaves));
    WeightTree tree(nodes.data(), leaves);
    for (size_t i = 0; i < weights.size(); ++i) tree.set(static_cast<int64_t>(i), weights[i]);
    tree.add_up();
    for (const double share : {0.0, 0.25, 0.5, 0.9, 1 - 0x1p-53, 1.0}) {
      EXPECT_GT(weights.at(static_cast<size_t>(tree.find(share))), 0) << share;
    }
  }
}

}  // namespace
}  // namespace halftone
