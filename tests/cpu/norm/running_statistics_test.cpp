#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "tolerance.h"

namespace halftone {
namespace {

// Running statistics of one dtype and stride, and a batch's.
struct Case {
  Case(DType dtype, int64_t channels, int64_t stride = 1)
      : mean(dtype, {channels}, {stride}),
        variance(dtype, {channels}, {stride}),
        batch_mean(DType::kF64, {channels}),
        batch_variance(DType::kF64, {channels}),
        batches(DType::kI64, {}) {
    mean.fill_uniform(-2, 3, 1);
    variance.fill_uniform(0, 3, 2);
    batch_mean.fill_uniform(-2, 3, 3);
    batch_variance.fill_uniform(0, 3, 4);
    batches.set(0, 3);
  }

  void run(RunningUpdate update, bool counts = true) {
    ThreadPool pool(1);
    cpu::CpuStream stream(pool);
    const RunningViews out = {mean.view(), variance.view(), counts ? batches.view() : View{}};
    ASSERT_TRUE(cpu::kNormKernels.update_running(stream, update, out).ok());
    EXPECT_TRUE(mean.guards_hold() && variance.guards_hold() && batches.guards_hold());
  }
  RunningUpdate update() const { return {.batch = {batch_mean.view(), batch_variance.view()}, .variance_scale = 1.25}; }

  HostTensor mean, variance, batch_mean, batch_variance, batches;
};

void expect_moved(const HostTensor& now, const HostTensor& before, const HostTensor& batch, double share,
                  double scale) {
  for (int64_t i = 0; i < now.numel(); ++i) {
    const double expected = before.get(i) + share * (scale * batch.get(i) - before.get(i));
    EXPECT_TRUE(is_close(now.get(i), expected, now.view().dtype, 2)) << i << ": " << now.get(i) << " for " << expected;
  }
}

TEST(RunningStatistics, AreMeansOverAllBatchesIfCumulative) {
  Case now(DType::kF32, 7);
  const Case before = now;
  RunningUpdate update = now.update();
  update.momentum = 100.0;  // must not count
  update.is_cumulative = true;
  now.run(update);
  expect_moved(now.mean, before.mean, now.batch_mean, 0.25, 1.0);
  expect_moved(now.variance, before.variance, now.batch_variance, 0.25, 1.25);
  EXPECT_EQ(now.batches.get(0), 4);
}

TEST(RunningStatistics, StayForAnEmptyBatchWhichCounts) {
  Case now(DType::kF32, 7);
  const Case before = now;
  now.run({});
  for (int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(now.mean.get(i), before.mean.get(i));
    EXPECT_EQ(now.variance.get(i), before.variance.get(i));
  }
  EXPECT_EQ(now.batches.get(0), 4);
}

TEST(RunningStatistics, MoveWithoutACount) {
  Case now(DType::kF64, 1);
  const Case before = now;
  now.run(now.update(), false);
  expect_moved(now.mean, before.mean, now.batch_mean, 0.1, 1.0);
  EXPECT_EQ(now.batches.get(0), 3);
}

TEST(RunningStatistics, TakeInfinitiesAndNaNsOfTheBatch) {
  Case now(DType::kF32, 2);
  now.batch_mean.set(0, std::numeric_limits<double>::infinity());
  now.batch_mean.set(1, std::numeric_limits<double>::quiet_NaN());
  now.run(now.update());
  EXPECT_TRUE(std::isinf(now.mean.get(0)));
  EXPECT_TRUE(std::isnan(now.mean.get(1)));
}

// One batch of large numbers must not leave an infinity, which no later batch would remove.
TEST(RunningStatistics, StayFiniteForFiniteBatches) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  Case now(DType::kF32, 3);
  now.batch_variance.set(0, 1e40);
  now.batch_variance.set(1, 1e38);
  now.batch_variance.set(2, -1e200);  // minus the deviation of a variance beyond f64
  now.run(now.update());
  EXPECT_EQ(now.variance.get(0), kLargest);
  EXPECT_LT(now.variance.get(1), kLargest);
  EXPECT_EQ(now.variance.get(2), kLargest);
}

}  // namespace
}  // namespace halftone
