// Several threads train with recomputation in one context. Each draws from the same generator, so which numbers a
// forward draws is open, but its backward draws the same.
#include <cmath>
#include <thread>

#include "nn/recompute_models.h"

namespace halftone::nn {
namespace {

TEST_F(RecomputeTest, ThreadsThatShareAGeneratorEachDrawTheirOwnNumbersAgain) {
  constexpr int kThreads = 4, kRounds = 40;
  const Ref<Module> shared = chain({make_ref<Dropout>(0.5), make_ref<Tanh>()});
  shared->set_recompute(true);
  int wrong[kThreads] = {};
  const auto train = [&](int& count) {
    for (int round = 0; round < kRounds; ++round) {
      const Tensor x = full(device(), DType::kF32, {64}, 0.25);
      set_requires_grad(x, true);
      const Tensor y = shared->run(x);
      run_backward(y, full(device(), DType::kF32, {64}, 1.0), false);
      const std::vector<double> results = values(y), gradients = grad(x);
      for (size_t i = 0; i < results.size(); ++i) {
        // Kept elements are doubled: the gradient is 2 (1 - tanh^2), and 0 where the element was dropped.
        const double expected = results[i] == 0.0 ? 0.0 : 2.0 * (1.0 - results[i] * results[i]);
        if (std::abs(gradients[i] - expected) > 1e-6) ++count;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int& count : wrong) threads.emplace_back([&train, &count] { train(count); });
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace halftone::nn
