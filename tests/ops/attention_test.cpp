// Attention on any number of threads: results and gradients are bitwise equal, whether backward takes one pass over the
// heads or one for the keys and one for the queries.
#include "ops/ops.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone {
namespace {

struct Outcome {
  std::vector<double> result, grad_q, grad_k, grad_v, grad_bias;
};

Outcome train_on(int threads, DType dtype, const ops::AttentionOptions& options) {
  ContextOptions context_options;
  context_options.num_threads = threads;
  context_options.seed = kRoomSeed;
  const Ref<Context> context = make_ref<Context>(context_options);
  ContextDevice& device = context->device("cpu");
  Tensor inputs[3];
  uint64_t sequence = 0;
  for (const Shape& shape : {Shape{3, 4, 205, 24}, Shape{3, 1, 301, 24}, Shape{3, 1, 301, 21}}) {
    inputs[sequence] = empty(device, dtype, shape);
    fill_uniform(inputs[sequence], {.seed = 1, .sequence = sequence}, -1, 1);
    set_requires_grad(inputs[sequence], true);
    ++sequence;
  }
  Tensor bias = empty(device, dtype, {4, 1, 301});
  fill_uniform(bias, {.seed = 1, .sequence = sequence}, -1, 1);
  set_requires_grad(bias, true);
  const Tensor result = ops::scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], bias, options);
  run_backward(result, full(device, dtype, result.shape(), 1.0), false);
  const auto values = [](const Tensor& tensor) {
    std::vector<double> read(static_cast<size_t>(tensor.numel()));
    read_to_host(tensor, DType::kF64, read.data());
    return read;
  };
  const auto grad = [&](int i) { return values(accumulator_of(inputs[i])->grad()); };
  return {values(result), grad(0), grad(1), grad(2), values(accumulator_of(bias)->grad())};
}

// With 3 heads of k and v, 1 and 3 threads take one pass, 2 and 8 take two.
TEST(AttentionOnThreads, GivesTheSameBits) {
  for (const ops::AttentionOptions& options :
       {ops::AttentionOptions{}, ops::AttentionOptions{.is_causal = true, .causal_offset = 7, .dropout = 0.2}}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const Outcome one = train_on(1, dtype, options);
      for (const int threads : {2, 3, 8}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " on " + std::to_string(threads));
        const Outcome several = train_on(threads, dtype, options);
        EXPECT_TRUE(several.result == one.result);
        EXPECT_TRUE(several.grad_q == one.grad_q);
        EXPECT_TRUE(several.grad_k == one.grad_k);
        EXPECT_TRUE(several.grad_v == one.grad_v);
        EXPECT_TRUE(several.grad_bias == one.grad_bias);
      }
    }
  }
}

}  // namespace
}  // namespace halftone
