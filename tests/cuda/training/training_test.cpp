// Training through the C interface on a CUDA device: the CPU's losses, and no wait within a step. On the emulated
// runtime the models train for a few steps, on a GPU for fifty.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "plugin_under_test.h"

namespace htone {
namespace {

// A model with its data.
struct Task {
  Module model;
  Tensor input;
  Tensor targets;
};
using MakeTask = Task (*)(const Device& device);

Task mlp(const Device& device) {
  const Module model = sequential({make<Module>(htone_module_create_linear, device, 12, 20, nullptr),
                                   make<Module>(htone_module_create_gelu, HTONE_GELU_TANH),
                                   make<Module>(htone_module_create_linear, device, 20, 5, nullptr)});
  return {model, Tensor::from(device, {16, 12}, wave(16 * 12)), Tensor::from(device, {16}, classes(16, 5))};
}

Task cnn(const Device& device) {
  const Module model = sequential(
      {make<Module>(htone_module_create_conv2d, device, 1, 6, 3, 3, nullptr),
       make<Module>(htone_module_create_batch_norm2d, device, 6, nullptr), make<Module>(htone_module_create_relu),
       make<Module>(htone_module_create_max_pool2d, 2, 2, nullptr), make<Module>(htone_module_create_flatten),
       make<Module>(htone_module_create_linear, device, 6 * 4 * 4, 5, nullptr)});
  return {model, Tensor::from(device, {8, 1, 10, 10}, wave(800)), Tensor::from(device, {8}, classes(8, 5))};
}

Task gpt(const Device& device) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  options.vocabulary = 31;
  options.positions = 24;
  options.layers = 2;
  options.width = 32;
  options.heads = 4;
  const Module model = make<Module>(htone_module_create_transformer, device, &options);
  return {model, Tensor::from(device, {2, 24}, classes(48, 31)), Tensor::from(device, {48}, classes(48, 31))};
}

struct Setting {
  const char* name;
  MakeTask make_task;
  htone_dtype precision;
  double tolerance;  // of the last loss, relative
};

// The losses stay on the device until the end, so that no step reads them.
std::vector<double> train(const char* device_name, const Setting& setting) {
  const Context context = make<Context>(htone_context_create, nullptr);
  call(htone_context_set_seed, context, uint64_t{11});
  call(htone_context_load_plugin, context, plugin());
  const Device device = make<Device>(htone_device_create, context, device_name);
  const Task task = setting.make_task(device);
  AutocastPolicy policy;
  if (setting.precision != HTONE_F32) policy = make<AutocastPolicy>(htone_autocast_policy_create, setting.precision);
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  options.lr = 1e-2;
  const Optimizer optimizer = make<Optimizer>(htone_optimizer_create, task.model, &options);
  std::vector<Tensor> losses;
  for (int step = 0; step < step_count(); ++step) {
    const int64_t before = waits();
    call(htone_optimizer_zero_grad, optimizer);
    const Tensor output = make<Tensor>(htone_module_forward, task.model, task.input, policy.get());
    const int64_t rows[] = {task.targets.shape()[0], output.shape().back()};
    const Tensor logits = make<Tensor>(htone_reshape, output, 2, rows);
    losses.push_back(make<Tensor>(htone_cross_entropy, logits, task.targets, nullptr));
    call(htone_tensor_backward, losses.back(), nullptr, 0);
    call(htone_optimizer_step, optimizer);
    EXPECT_EQ(waits(), before) << "step " << step;
  }
  std::vector<double> values;
  for (const Tensor& loss : losses) values.push_back(loss.item());
  return values;
}

class CudaTraining : public testing::TestWithParam<Setting> {};

TEST_P(CudaTraining, HasTheLossesOfTheCpuAndNoWaitWithinAStep) {
  const std::vector<double> expected = train("cpu", GetParam());
  const std::vector<double> actual = train("cuda", GetParam());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], GetParam().tolerance * std::fabs(expected[i])) << "step " << i;
  }
  EXPECT_LT(actual.back(), actual.front());
}

INSTANTIATE_TEST_SUITE_P(
    Models, CudaTraining,
    testing::Values(Setting{"mlp_f32", mlp, HTONE_F32, 1e-4}, Setting{"mlp_bf16", mlp, HTONE_BF16, 2e-2},
                    Setting{"cnn_f32", cnn, HTONE_F32, 1e-3}, Setting{"cnn_f16", cnn, HTONE_F16, 2e-2},
                    Setting{"gpt_f32", gpt, HTONE_F32, 1e-3}, Setting{"gpt_bf16", gpt, HTONE_BF16, 3e-2}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace htone
