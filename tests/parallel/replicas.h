// Models, batches and loops for tests of data-parallel training: one rank on whole batches, and ranks on their parts.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "autograd/engine.h"
#include "autograd/weights/weights.h"
#include "comm/ranks.h"
#include "nn/activations.h"
#include "nn/batch_norm.h"
#include "nn/conv.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "nn/transformer/transformer.h"
#include "ops/ops.h"
#include "optim/adamw.h"
#include "optim/sgd.h"
#include "parallel/replicate/replicate.h"
#include "tensor/factory.h"

namespace halftone::parallel {

inline constexpr int64_t kRows = 24;  // of a whole batch: 1, 2, 3, 4 and 8 ranks have equal parts
inline constexpr int64_t kFeatures = 5;
inline constexpr int64_t kHidden = 33;
inline constexpr int64_t kTargets = 3;
inline constexpr int64_t kTokens = 6;
inline constexpr int64_t kVocabulary = 17;

// The rows of a step that a rank computes.
struct Part {
  int step;
  int64_t begin;
  int64_t end;

  static Part of(int step, int rank, int size) {
    return {.step = step, .begin = rank * kRows / size, .end = (rank + 1) * kRows / size};
  }
};

// Numbers that depend on the row and the step alone.
inline Tensor make_rows(ContextDevice& device, const Part& part, Shape row, double frequency) {
  Shape shape = {part.end - part.begin};
  for (int dim = 0; dim < row.rank(); ++dim) shape.push_back(row[dim]);
  std::vector<float> values;
  for (int64_t i = part.begin; i < part.end; ++i) {
    for (int64_t j = 0; j < numel(row); ++j) {
      values.push_back(static_cast<float>(std::sin(frequency * static_cast<double>(i * 7 + j * 3 + part.step * 11))));
    }
  }
  return from_host(device, DType::kF32, shape, values.data());
}

inline Tensor make_tokens(ContextDevice& device, const Part& part, int64_t shift) {
  std::vector<int64_t> values;
  for (int64_t i = part.begin; i < part.end; ++i) {
    for (int64_t j = 0; j < kTokens; ++j) values.push_back((i * i + (j + shift) * 5 + part.step) % kVocabulary);
  }
  return from_host(device, DType::kI64, {part.end - part.begin, kTokens}, values.data());
}

// A model with the loss of a part of a batch. Every context of a rank has one seed, so every rank draws one model.
struct Task {
  std::function<Ref<nn::Module>(ContextDevice& device)> make_model;
  std::function<Tensor(const nn::Module& model, ContextDevice& device, const Part& part)> loss;
  bool has_batch_norm = false;
};

inline Ref<nn::Module> make_perceptron(ContextDevice& device, int64_t hidden = kHidden) {
  std::vector<Ref<nn::Module>> layers = {make_ref<nn::Linear>(device, kFeatures, hidden, true, DType::kF32),
                                         make_ref<nn::Tanh>(),
                                         make_ref<nn::Linear>(device, hidden, kTargets, true, DType::kF32)};
  return make_ref<nn::Sequential>(std::move(layers));
}

inline Tensor perceptron_loss(const nn::Module& model, ContextDevice& device, const Part& part) {
  const Tensor input = make_rows(device, part, {kFeatures}, 0.7);
  const Tensor target = make_rows(device, part, {kTargets}, 0.3);
  return ops::mse_loss(model.run(input), target, LossReduction::kMean);
}

inline Task perceptron() {
  return {[](ContextDevice& device) { return make_perceptron(device); }, perceptron_loss};
}

inline Task language_model(double dropout = 0.0, bool recomputes = false) {
  const auto make = [dropout, recomputes](ContextDevice& device) -> Ref<nn::Module> {
    nn::TransformerOptions options;
    options.attention = {.width = 16, .heads = 2, .kv_heads = 2, .is_causal = true};
    options.attention.position_kind = nn::PositionKind::kLearned;
    options.attention.dropout = dropout;
    options.hidden = 32;
    options.layers = 2;
    options.vocabulary = kVocabulary;
    options.positions = kTokens;
    const auto model = make_ref<nn::Transformer>(device, options);
    model->set_recompute(recomputes);
    return model;
  };
  const auto loss = [](const nn::Module& model, ContextDevice& device, const Part& part) {
    const int64_t rows = (part.end - part.begin) * kTokens;
    const Tensor logits = ops::reshape(model.run(make_tokens(device, part, 0)), {rows, kVocabulary});
    return ops::cross_entropy(logits, ops::reshape(make_tokens(device, part, 1), {rows}), Tensor(), {});
  };
  return {make, loss};
}

// The convolutions have no bias: before a batch norm its gradient is 0 but for rounding, which AdamW would enlarge.
inline Task image_model() {
  const auto make = [](ContextDevice& device) -> Ref<nn::Module> {
    const auto convolve = [](const Tensor& input, const Tensor& weight, const Tensor& bias) {
      return ops::conv2d(input, weight, bias, {});
    };
    const auto norm = [&](int64_t channels) {
      return make_ref<nn::BatchNorm>(device, channels, DType::kF32,
                                     nn::BatchNormOptions{.least_rank = 4, .most_rank = 4},
                                     nn::Affine::make(device, {channels}, DType::kF32, true, true));
    };
    const auto conv = [&](int64_t out, int64_t in) {
      return make_ref<nn::Conv>(
          device, Op::kConv2d, convolve,
          nn::ConvParameters{.weight = {out, in, 3, 3}, .out_channels = out, .bias = false, .dtype = DType::kF32});
    };
    std::vector<Ref<nn::Module>> layers = {conv(4, 2), norm(4), make_ref<nn::Tanh>(),
                                           conv(6, 4), norm(6), make_ref<nn::Tanh>()};
    return make_ref<nn::Sequential>(std::move(layers));
  };
  const auto loss = [](const nn::Module& model, ContextDevice& device, const Part& part) {
    const Tensor output = model.run(make_rows(device, part, {2, 6, 6}, 0.7));
    return ops::mse_loss(output, make_rows(device, part, {6, 2, 2}, 0.3), LossReduction::kMean);
  };
  return {make, loss, true};
}

using MakeOptimizer = Ref<optim::Optimizer> (*)(const nn::Module& model);

inline Ref<optim::Optimizer> make_sgd(const nn::Module& model) {
  const SgdGroup settings{
      .lr = 0.01, .momentum = 0.9, .dampening = 0, .weight_decay = 1e-3, .nesterov = 1, .reserved = 0};
  return make_ref<optim::Sgd>(optim::ParameterGroup{.parameters = model.parameters(), .precision = {}}, settings);
}

inline Ref<optim::Optimizer> make_adamw(const nn::Module& model) {
  const AdamwGroup settings{.lr = 0.005, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
  return make_ref<optim::AdamW>(optim::ParameterGroup{.parameters = model.parameters(), .precision = {}}, settings);
}

inline std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.numel()));
  read_to_host(tensor, DType::kF32, values.data());
  return values;
}

inline std::vector<float> weights_of(const nn::Module& model) {
  std::vector<float> all;
  for (const NamedParameter& named : model.parameters()) {
    const std::vector<float> values = values_of(named.parameter->weights().master());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// |a - b| / |b|
inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

inline void run_backward_of(const Tensor& loss) { run_backward(loss, Tensor(), false); }

// Small buckets, so that these models have several.
inline ReplicateOptions small_buckets() {
  ReplicateOptions options;
  options.bucket_sizes = {.first = 256, .others = 2048};
  return options;
}

// The error of a call; fails the test where there is none.
template <class Function>
Error error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "expected an error";
  return Error(Code::kOk, 0, "", "");
}

inline bool contains(const Error& error, const char* text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

}  // namespace halftone::parallel
