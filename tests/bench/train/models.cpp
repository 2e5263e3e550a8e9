#include "bench/train/models.h"

#include <vector>

namespace halftone::bench {

namespace {

using htone::make;
using htone::Module;
using htone::Tensor;

constexpr int64_t kBatch = 128;

// Gradients of weights and of inputs cost as much as forward each; the first layer has no gradient of its input.
constexpr double kForwardAndBackward = 3;
constexpr double kWithoutInputGradient = 2;

double product(double m, double n, double k) { return 2 * m * n * k; }

Module linear(const htone::Device& device, int64_t in, int64_t out) {
  return make<Module>(htone_module_create_linear, device, in, out, nullptr);
}
Module relu() { return make<Module>(htone_module_create_relu); }

std::vector<int64_t> classes_in_turn(int64_t count, int64_t classes) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(i * 7 % classes);
  return values;
}

Tensor uniform(const htone::Device& device, const std::vector<int64_t>& shape) {
  return make<Tensor>(htone_rand, device, HTONE_F32, static_cast<int32_t>(shape.size()), shape.data());
}

}  // namespace

TrainTask make_mlp(const htone::Device& device) {
  constexpr int64_t kIn = 784, kHidden = 1024, kOut = 10;
  const Module module = htone::sequential(
      {linear(device, kIn, kHidden), relu(), linear(device, kHidden, kHidden), relu(), linear(device, kHidden, kOut)});
  return {.module = module,
          .input = uniform(device, {kBatch, kIn}),
          .target = Tensor::from(device, {kBatch}, classes_in_turn(kBatch, kOut)),
          .classes = kOut,
          .items = kBatch,
          .item = "images",
          .flops = kWithoutInputGradient * product(kBatch, kHidden, kIn) +
                   kForwardAndBackward * (product(kBatch, kHidden, kHidden) + product(kBatch, kOut, kHidden))};
}

TrainTask make_cnn(const htone::Device& device) {
  constexpr int64_t kSide = 28, kFirst = 32, kSecond = 64, kHidden = 128, kOut = 10;
  constexpr int64_t kPooled = kSecond * (kSide / 4) * (kSide / 4);
  htone_conv_options conv = HTONE_CONV_OPTIONS_INIT;
  conv.padding_h = conv.padding_w = 1;
  const auto convolution = [&](int64_t in, int64_t out) {
    return make<Module>(htone_module_create_conv2d, device, in, out, 3, 3, &conv);
  };
  const auto pool = [] { return make<Module>(htone_module_create_max_pool2d, 2, 2, nullptr); };
  const Module module = htone::sequential({convolution(1, kFirst), relu(), pool(), convolution(kFirst, kSecond), relu(),
                                           pool(), make<Module>(htone_module_create_flatten),
                                           linear(device, kPooled, kHidden), relu(), linear(device, kHidden, kOut)});
  constexpr double kPixels = kBatch * kSide * kSide;
  return {.module = module,
          .input = uniform(device, {kBatch, 1, kSide, kSide}),
          .target = Tensor::from(device, {kBatch}, classes_in_turn(kBatch, kOut)),
          .classes = kOut,
          .items = kBatch,
          .item = "images",
          .flops = kWithoutInputGradient * product(kPixels, kFirst, 9) +
                   kForwardAndBackward * (product(kPixels / 4, kSecond, 9 * kFirst) +
                                          product(kBatch, kHidden, kPooled) + product(kBatch, kOut, kHidden))};
}

TrainTask make_gpt_of(const htone::Device& device, int64_t context, int64_t batch) {
  constexpr int64_t kLayers = 6, kWidth = 384, kBytes = 256;
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  options.vocabulary = kBytes;
  options.positions = context;
  options.layers = kLayers;
  options.width = kWidth;
  options.heads = 6;
  options.head = HTONE_HEAD_OWN;
  std::vector<int64_t> bytes;
  for (int64_t i = 0; i <= batch * context; ++i) bytes.push_back(i * i % 251);
  const std::vector<int64_t> input(bytes.begin(), bytes.end() - 1), target(bytes.begin() + 1, bytes.end());
  const double tokens = static_cast<double>(batch * context);
  // The products with weights; then scores and their weighted sums, half of which a causal mask hides.
  constexpr double kWeights = kLayers * 12.0 * kWidth * kWidth + kWidth * kBytes;
  const double attention = kLayers * 2.0 * tokens * static_cast<double>(context) * kWidth;
  return {.module = make<Module>(htone_module_create_transformer, device, &options),
          .input = Tensor::from(device, {batch, context}, input),
          .target = Tensor::from(device, {batch * context}, target),
          .classes = kBytes,
          .items = batch * context,
          .item = "tokens",
          .flops = kForwardAndBackward * (2 * tokens * kWeights + attention)};
}

TrainTask make_gpt(const htone::Device& device) { return make_gpt_of(device, 256, 8); }

}  // namespace halftone::bench
