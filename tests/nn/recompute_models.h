// Small models for the tests of recomputation, and one training step of them with everything that it leaves behind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nn/activations.h"
#include "nn/batch_norm.h"
#include "nn/conv.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/part_copies.h"
#include "nn/pool.h"
#include "nn/preparation.h"
#include "nn/recompute.h"
#include "nn/recurrent.h"
#include "nn/sequential.h"
#include "nn/transformer/transformer.h"
#include "ops/conv/conv.h"
#include "ops/dispatch/autocast.h"
#include "ops/ops.h"
#include "room_fixture.h"

namespace halftone::nn {

// A rule, and how many modules of the model fit it.
struct Marking {
  RecomputeRule rule;
  int64_t count;
};

// Everything that a step of training computes and changes.
struct StepResult {
  double loss = 0.0;
  std::map<std::string, std::vector<double>> gradients;
  std::map<std::string, std::vector<double>> buffers;
  uint64_t sequences = 0;  // taken from the generator

  bool operator==(const StepResult& other) const = default;
};

class RecomputeTest : public RoomTest {
 protected:
  Ref<Module> linear(int64_t in, int64_t out) { return make_ref<Linear>(device(), in, out, true, DType::kF32); }

  static Ref<Module> chain(std::vector<Ref<Module>> modules) { return make_ref<Sequential>(std::move(modules)); }

  // [n, 6] to [n, 3]; the parts 0 and 1 are blocks.
  Ref<Module> mlp() {
    const auto block = [&](int64_t in) {
      return chain({linear(in, 10), make_ref<Gelu>(ops::GeluForm::kErf), make_ref<Dropout>(0.4), linear(10, 10),
                    make_ref<Tanh>()});
    };
    return chain({block(6), block(10), linear(10, 3)});
  }

  // [n, 2, 12, 12] to [n, 3]
  Ref<Module> cnn() {
    const auto block = [&](int64_t in) {
      const auto convolve = [](const Tensor& x, const Tensor& w, const Tensor& b) {
        return ops::conv2d(x, w, b, {.window = {.padding = {1, 1}}});
      };
      return chain({make_ref<Conv>(
                        device(), Op::kConv2d, convolve,
                        ConvParameters{.weight = {4, in, 3, 3}, .out_channels = 4, .bias = true, .dtype = DType::kF32}),
                    make_ref<BatchNorm>(device(), 4, DType::kF32, BatchNormOptions{.most_rank = 4},
                                        Affine::make(device(), {4}, DType::kF32, true, true)),
                    make_ref<Relu>(),
                    make_ref<Pool>(Op::kMaxPool2d, ops::max_pool2d,
                                   ops::PoolOptions{.kernel = {2, 2}, .window = {.stride = {2, 2}}})});
    };
    return chain({block(2), block(4), make_ref<Flatten>(), linear(36, 3)});
  }

  static TransformerOptions gpt_options(int64_t layers) {
    TransformerOptions options;
    options.attention = {.width = 8, .heads = 2, .kv_heads = 2, .is_causal = true, .dropout = 0.1};
    options.hidden = 32;
    options.layers = layers;
    options.vocabulary = 11;
    options.positions = 9;
    return options;
  }
  // Tokens [n, t] to [n, t, 11].
  Ref<Module> gpt(int64_t layers, DType dtype = DType::kF32) {
    TransformerOptions options = gpt_options(layers);
    options.attention.dtype = dtype;
    return make_ref<Transformer>(device(), options);
  }
  Ref<Module> llama_like(int64_t layers, DType dtype = DType::kF32) {
    TransformerOptions options = gpt_options(layers);
    options.attention.dtype = dtype;
    options.norm_kind = NormKind::kRms;
    options.feed_forward = FeedForwardKind::kSwiGlu;
    options.attention.kv_heads = 1;
    options.attention.bias = false;
    options.head = OutputHead::kOwn;
    return make_ref<Transformer>(device(), options);
  }

  Tensor noise(const Shape& shape) {
    Tensor result = empty(device(), DType::kF32, shape);
    fill_normal(result, {.seed = 3, .sequence = 5}, 0.0, 1.0);
    return result;
  }
  Tensor tokens() {
    std::vector<double> numbers(21);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>((i * 5 + i / 4) % 11);
    return tensor({3, 7}, numbers, DType::kI64);
  }

  // A number that every output counts for.
  static Tensor loss_of(const Tensor& output) { return ops::mean(ops::mul(output, ops::sigmoid(output)), {}, false); }

  static std::vector<double> gradient_of(const Parameter& parameter) {
    return parameter.has_grad() ? values(parameter.grad()) : std::vector<double>();
  }

  StepResult result_of(const Module& model, const Tensor& loss) {
    StepResult result;
    result.loss = item(loss);
    for (const NamedParameter& named : model.parameters()) {
      result.gradients[named.name] = gradient_of(*named.parameter);
    }
    for (const NamedBuffer& named : model.buffers()) result.buffers[named.name] = values(named.tensor);
    result.sequences = context().sequences_taken();
    return result;
  }

  static Tensor forward(const Module& model, const Tensor& input, const AutocastPolicy* policy) {
    const ScopeGuard restore;
    scope().autocast = policy;
    return loss_of(model.run(input));
  }
};

}  // namespace halftone::nn
