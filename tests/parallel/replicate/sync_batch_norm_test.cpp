// Batch normalisation over ranks is that of one rank which has the whole batch.
#include "parallel/replicate/sync_batch_norm.h"

#include "autograd/weights/weights.h"
#include "nn/batch_norm.h"
#include "ops/elementwise/scalar.h"
#include "ops/ops.h"
#include "parallel/replicas.h"

namespace halftone::parallel {
namespace {

constexpr int64_t kChannels = 3;
constexpr int64_t kPixels = 10;  // in each image

Ref<nn::BatchNorm> make_layer(ContextDevice& device) {
  const Ref<nn::BatchNorm> layer =
      make_ref<nn::BatchNorm>(device, kChannels, DType::kF32, nn::BatchNormOptions{.most_rank = 4},
                              nn::Affine::make(device, {kChannels}, DType::kF32, true, true));
  const float weights[] = {0.5f, 2.0f, -1.5f};
  write_from_host(layer->parameters()[0].parameter->weights().master(), DType::kF32, weights);
  return layer;
}

// The results of a forward and backward over images [begin, end) of a batch.
struct Results {
  std::vector<float> output, input_grad, weight_grad, bias_grad, running_mean, running_var;
};

float pixel(int64_t image, int64_t i, double frequency) {
  return static_cast<float>(1000 * (i / kPixels) + std::sin(frequency * static_cast<double>(image * 31 + i * 7)));
}

Tensor images(ContextDevice& device, int64_t begin, int64_t end, double frequency, double offset) {
  std::vector<float> values;
  for (int64_t image = begin; image < end; ++image) {
    for (int64_t i = 0; i < kChannels * kPixels; ++i) {
      values.push_back(pixel(image, i, frequency) - static_cast<float>(offset * static_cast<double>(i / kPixels)));
    }
  }
  return from_host(device, DType::kF32, {end - begin, kChannels, 2, kPixels / 2}, values.data());
}

Results compute(const nn::BatchNorm& layer, ContextDevice& device, int64_t begin, int64_t end) {
  const Tensor input = images(device, begin, end, 0.37, 0);
  set_requires_grad(input, true);
  const Tensor output = layer.run(input);
  run_backward(output, images(device, begin, end, 0.91, 1000), false);
  return {.output = values_of(output),
          .input_grad = values_of(accumulator_of(input)->grad()),
          .weight_grad = values_of(layer.parameters()[0].parameter->grad()),
          .bias_grad = values_of(layer.parameters()[1].parameter->grad()),
          .running_mean = values_of(layer.buffers()[0].tensor),
          .running_var = values_of(layer.buffers()[1].tensor)};
}

void add(const std::vector<float>& part, std::vector<float>& sum) {
  if (sum.empty()) sum.resize(part.size());
  for (size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
}

void append(const std::vector<float>& part, std::vector<float>& all) {
  all.insert(all.end(), part.begin(), part.end());
}

// Rank r has images [ends[r - 1], ends[r]).
void expect_like_one_rank(const std::vector<int64_t>& ends) {
  const Ref<Context> context = make_rank_context();
  const Results expected = compute(*make_layer(context->device("cpu")), context->device("cpu"), 0, ends.back());
  std::vector<Results> parts(ends.size());
  run_ranks(static_cast<int>(ends.size()), [&](Rank& rank) {
    const Ref<nn::BatchNorm> layer = make_layer(rank.device());
    synchronize_batch_norm(*layer, *rank.group);
    const auto number = static_cast<size_t>(rank.number());
    parts[number] = compute(*layer, rank.device(), number == 0 ? 0 : ends[number - 1], ends[number]);
  });
  Results all;
  for (const Results& part : parts) {
    append(part.output, all.output);
    append(part.input_grad, all.input_grad);
    add(part.weight_grad, all.weight_grad);
    add(part.bias_grad, all.bias_grad);
    EXPECT_LT(relative_difference(part.running_mean, expected.running_mean), 1e-6);
    EXPECT_LT(relative_difference(part.running_var, expected.running_var), 1e-6);
  }
  ASSERT_EQ(all.output.size(), expected.output.size());
  EXPECT_LT(relative_difference(all.output, expected.output), 1e-6);
  EXPECT_LT(relative_difference(all.input_grad, expected.input_grad), 1e-5);
  EXPECT_LT(relative_difference(all.weight_grad, expected.weight_grad), 1e-5);
  EXPECT_LT(relative_difference(all.bias_grad, expected.bias_grad), 1e-5);
}

TEST(SyncBatchNorm, EqualPartsAreLikeOneBatch) { expect_like_one_rank({2, 4, 6, 8}); }

TEST(SyncBatchNorm, PartsOfDifferentSizesAreLikeOneBatch) { expect_like_one_rank({1, 6, 8}); }

TEST(SyncBatchNorm, ARankWithoutImagesTakesPart) {
  expect_like_one_rank({3, 3, 7});
  expect_like_one_rank({0, 3, 7});
}

TEST(SyncBatchNorm, OneRankIsLikeTheLayerAlone) { expect_like_one_rank({5}); }

// A layer of f64 images times 2^exponent; results are float, so the gradient is scaled back.
Results compute_wide(ContextDevice& device, const nn::BatchNorm& layer, int64_t begin, int64_t end, int exponent) {
  const auto wide = [&](double frequency, int power) {
    const Tensor narrow = images(device, begin, end, frequency, 1000);
    return ops::mul_scalar(ops::cast(narrow, DType::kF64), std::ldexp(1.0, power));
  };
  const Tensor input = wide(0.37, exponent);
  set_requires_grad(input, true);
  const Tensor output = layer.run(input);
  run_backward(output, wide(0.91, 0), false);
  const Tensor grad = ops::mul_scalar(accumulator_of(input)->grad(), std::ldexp(1.0, exponent));
  Results results = {};
  results.output = values_of(ops::cast(output, DType::kF32));
  results.input_grad = values_of(ops::cast(grad, DType::kF32));
  return results;
}

TEST(SyncBatchNorm, TheScaleOfF64ImagesDoesNotMatter) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::BatchNorm> layer = make_ref<nn::BatchNorm>(
        rank.device(), kChannels, DType::kF64, nn::BatchNormOptions{.epsilon = 0, .most_rank = 4},
        nn::Affine::make(rank.device(), {kChannels}, DType::kF64, true, true));
    synchronize_batch_norm(*layer, *rank.group);
    const int64_t begin = 2 * rank.number();
    const Results expected = compute_wide(rank.device(), *layer, begin, begin + 2, 0);
    for (const int exponent : {530, 900, -530, -900}) {
      const Results results = compute_wide(rank.device(), *layer, begin, begin + 2, exponent);
      EXPECT_LT(relative_difference(results.output, expected.output), 1e-6) << exponent;
      EXPECT_LT(relative_difference(results.input_grad, expected.input_grad), 1e-5) << exponent;
    }
  });
}

TEST(SyncBatchNorm, EvaluationNeedsNoOtherRank) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::BatchNorm> layer = make_layer(rank.device());
    synchronize_batch_norm(*layer, *rank.group);
    layer->set_training(false);
    if (rank.number() == 0) layer->run(images(rank.device(), 0, 2, 0.3, 0));
    EXPECT_EQ(rank.group->counters().operations, 0);
  });
}

TEST(SyncBatchNorm, OneElementOnAllRanksIsAnErrorOnAll) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::BatchNorm> layer = make_layer(rank.device());
    synchronize_batch_norm(*layer, *rank.group);
    const Tensor input = full(rank.device(), DType::kF32, {rank.number(), kChannels, 1, 1}, 1.0);
    EXPECT_EQ(error_of([&] { layer->run(input); }).code(), Code::kShapeMismatch);
  });
}

TEST(SyncBatchNorm, AModuleWithoutSuchLayersIsAnError) {
  run_ranks(1, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    EXPECT_EQ(error_of([&] { synchronize_batch_norm(*model, *rank.group); }).code(), Code::kState);
  });
}

}  // namespace
}  // namespace halftone::parallel
