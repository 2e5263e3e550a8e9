// Samples at the places of a grid on any number of threads: results and gradients are bitwise equal, also where many
// places read the same elements.
#include "ops/ops.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone {
namespace {

std::vector<double> read(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.numel()));
  read_to_host(tensor, DType::kF64, values.data());
  return values;
}

// The samples and the gradients of input and grid.
std::vector<std::vector<double>> samples_on(int threads, const GridRule& rule) {
  ContextOptions options;
  options.num_threads = threads;
  const Ref<Context> context = make_ref<Context>(options);
  ContextDevice& device = context->device("cpu");
  const Tensor input = empty(device, DType::kF32, {2, 13, 5, 7}), grid = empty(device, DType::kF32, {2, 37, 41, 2});
  fill_uniform(input, {.seed = 1, .sequence = 0}, -1, 1);
  fill_uniform(grid, {.seed = 1, .sequence = 1}, -2, 2);
  set_requires_grad(input, true);
  set_requires_grad(grid, true);
  const Tensor result = ops::grid_sample(input, grid, rule);
  const Tensor grad = empty(device, DType::kF32, result.shape());
  fill_uniform(grad, {.seed = 1, .sequence = 2}, -1, 1);
  run_backward(result, grad, false);
  return {read(result), read(accumulator_of(input)->grad()), read(accumulator_of(grid)->grad())};
}

TEST(GridSampleOnThreads, GivesTheSameBits) {
  for (const GridMode mode : {GridMode::kLinear, GridMode::kNearest, GridMode::kCubic}) {
    const GridRule rule = {mode, GridPadding::kReflection, false};
    const auto one = samples_on(1, rule);
    for (const int threads : {2, 3, 8}) EXPECT_TRUE(samples_on(threads, rule) == one) << "on " << threads;
  }
}

}  // namespace
}  // namespace halftone
