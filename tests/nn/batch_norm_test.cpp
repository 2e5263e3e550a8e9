#include "nn/batch_norm.h"

#include <thread>

#include "core/call_log.h"
#include "probe_device.h"
#include "room_fixture.h"

namespace halftone::nn {
namespace {

class BatchNormTest : public RoomTest {
 protected:
  static Ref<BatchNorm> layer(ContextDevice& device, int64_t channels, DType dtype = DType::kF32) {
    return make_ref<BatchNorm>(device, channels, dtype, BatchNormOptions{.most_rank = 4},
                               Affine::make(device, {channels}, dtype, true, true));
  }
  static Tensor noise(ContextDevice& device, const Shape& shape) {
    Tensor result = empty(device, DType::kF32, shape);
    fill_normal(result, {.seed = 3, .sequence = 5}, 1.0, 2.0);
    return result;
  }
};

// For ThreadSanitizer: the values alone cannot show a race.
TEST_F(BatchNormTest, ManyThreadsMayEvaluateOneLayer) {
  const Ref<BatchNorm> module = layer(device(), 6);
  const Tensor input = noise(device(), {16, 6, 5, 5});
  module->run(input);
  module->set_training(false);
  const std::vector<double> expected = values(module->run(input));
  std::vector<double> results[4];
  std::vector<std::thread> threads;
  for (std::vector<double>& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = values(module->run(input));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<double>& result : results) EXPECT_EQ(result, expected);
}

TEST_F(BatchNormTest, TrainingGivesTheSameBitsOnAnyNumberOfThreads) {
  std::vector<double> outs[2], gradients[2], statistics[2];
  for (int i = 0; i < 2; ++i) {
    ContextOptions wide = options();
    wide.num_threads = i == 0 ? 1 : 5;
    const Ref<Context> context = make_ref<Context>(wide);
    const Ref<BatchNorm> module = layer(context->device("cpu"), 7);
    const Tensor input = noise(context->device("cpu"), {40, 7, 13, 11});
    const Tensor out = module->run(input);
    run_backward(out, input, false);
    outs[i] = values(out);
    gradients[i] = values(module->parameters()[0].parameter->grad());
    statistics[i] = values(module->buffers()[1].tensor);
  }
  EXPECT_EQ(outs[1], outs[0]);
  EXPECT_EQ(gradients[1], gradients[0]);
  EXPECT_EQ(statistics[1], statistics[0]);
}

TEST_F(BatchNormTest, RunningStatisticsAreWideWhateverTheWeights) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    EXPECT_EQ(layer(device(), 2, dtype)->buffers()[1].tensor.dtype(), DType::kF32);
  }
  EXPECT_EQ(layer(device(), 2, DType::kF64)->buffers()[1].tensor.dtype(), DType::kF64);
}

TEST_F(BatchNormTest, TrainingLaunchesTheNormAndOneUpdateAndWaitsForNothing) {
  for (const bool is_cumulative : {false, true}) {
    const Ref<BatchNorm> module =
        make_ref<BatchNorm>(device(), 6, DType::kF32, BatchNormOptions{.is_cumulative = is_cumulative, .most_rank = 4},
                            Affine::make(device(), {6}, DType::kF32, true, true));
    const Tensor input = noise(device(), {16, 6, 5, 5});
    const ProbeDevice probe(device());
    module->run(input);
    EXPECT_EQ(probe.launches(), 2);
    EXPECT_EQ(probe.downloads(), 0);
  }
}

TEST_F(BatchNormTest, RunningStatisticsMoveWhenTheCallHasSucceeded) {
  const Ref<BatchNorm> module = layer(device(), 2);
  const Tensor input = tensor({2, 2}, {1, 2, 3, 4});
  const auto buffers = [&] {
    std::vector<double> all;
    for (const NamedBuffer& buffer : module->buffers()) {
      for (const double value : values(buffer.tensor)) all.push_back(value);
    }
    return all;
  };
  const std::vector<double> before = buffers();
  {
    const CallLog failed;
    module->run(input);
  }
  EXPECT_EQ(buffers(), before);
  {
    CallLog call;
    module->run(input);
    module->run(input);
    EXPECT_EQ(buffers(), before);
    call.succeed();
  }
  const std::vector<double> after = buffers();
  const std::vector<double> expected = {0.38, 0.57, 1.19, 1.19, 2};  // two batches of means 2, 3 and variances 2, 2
  ASSERT_EQ(after.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(after[i], expected[i], 1e-6) << i;
}

// Forward in evaluation saves its statistics, so later training does not change backward.
TEST_F(BatchNormTest, BackwardOfEvaluationOutlivesNewStatistics) {
  const Ref<BatchNorm> module = layer(device(), 2);
  module->set_training(false);
  const Tensor input = leaf({2, 2}, {1, 2, 3, 4});
  const Tensor out = module->run(input);
  module->set_training(true);
  module->run(tensor({2, 2}, {5, -6, 7, 80}));
  run_backward(out, tensor({2, 2}, {1, 1, 1, 1}), false);
  for (double slope : grad(input)) EXPECT_NEAR(slope, 1.0, 1e-5);
}

}  // namespace
}  // namespace halftone::nn
