// Steps as graphs through the C interface: on the CUDA device, which records them, and on the CPU, which calls the
// function. Each replay must have the bits of an ordinary step, and leave the run as an ordinary step does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "plugin_under_test.h"

namespace htone {
namespace {

constexpr int kWarmUp = 2;
constexpr int kSteps = 5;  // after the warm-up

// A training run whose step is one function: dropout, a scaler, AdamW, clipping and a schedule.
struct Run {
  Context context;
  Device device;
  Module model;
  Tensor input;
  Tensor targets;
  std::vector<int64_t> rows;  // of the logits
  AutocastPolicy policy;
  Optimizer optimizer;
  GradScaler scaler;
  Tensor loss;
};
using MakeModel = void (*)(Run& run);

void mlp(Run& run) {
  run.model = sequential({make<Module>(htone_module_create_linear, run.device, 12, 20, nullptr),
                          make<Module>(htone_module_create_batch_norm1d, run.device, 20, nullptr),
                          make<Module>(htone_module_create_relu), make<Module>(htone_module_create_dropout, 0.3),
                          make<Module>(htone_module_create_linear, run.device, 20, 5, nullptr)});
  run.input = Tensor::from(run.device, {16, 12}, wave(16 * 12));
  run.targets = Tensor::from(run.device, {16}, classes(16, 5));
  run.rows = {16, 5};
}

void gpt(Run& run) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  options.vocabulary = 31;
  options.positions = 12;
  options.layers = 1;
  options.width = 16;
  options.heads = 2;
  options.dropout = 0.2;
  run.model = make<Module>(htone_module_create_transformer, run.device, &options);
  run.input = Tensor::from(run.device, {2, 12}, classes(24, 31));
  run.targets = Tensor::from(run.device, {24}, classes(24, 31));
  run.rows = {24, 31};
}

// Different for each position, so that a replay with a stale factor shows.
htone_status factor_of(int64_t position, double* out_factor, void*) {
  *out_factor = 1.0 / (1.0 + 0.3 * static_cast<double>(position));
  return HTONE_OK;
}

struct Setting {
  const char* name;
  MakeModel make_model;
  htone_dtype precision;
  bool host_schedule;
  htone_master_storage master;
};

Schedule schedule_of(const Setting& setting) {
  if (setting.host_schedule) return make<Schedule>(htone_schedule_create_callback, factor_of, nullptr, nullptr);
  const Schedule cosine = make<Schedule>(htone_schedule_create_cosine, int64_t{20}, 0.1);
  return make<Schedule>(htone_schedule_create_warmup, int64_t{4}, 0.2, cosine);
}

Run make_run(const char* device_name, const Setting& setting) {
  Run run;
  run.context = make<Context>(htone_context_create, nullptr);
  call(htone_context_set_seed, run.context, uint64_t{11});
  call(htone_context_load_plugin, run.context, plugin());
  run.device = make<Device>(htone_device_create, run.context, device_name);
  setting.make_model(run);
  run.policy = make<AutocastPolicy>(htone_autocast_policy_create, setting.precision);
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  options.lr = 1e-2;
  options.master_storage = setting.master;
  options.compute_dtype = setting.precision;
  run.optimizer = make<Optimizer>(htone_optimizer_create, run.model, &options);
  call(htone_optimizer_set_schedule, run.optimizer, schedule_of(setting));
  htone_grad_scaler_options scaler = HTONE_GRAD_SCALER_OPTIONS_INIT;
  scaler.initial_scale = 0x1p18;  // overflows at first in FP16, so that steps are skipped
  scaler.growth_interval = 3;
  run.scaler = make<GradScaler>(htone_grad_scaler_create, run.device, &scaler);
  return run;
}

void step(Run& run) {
  call(htone_optimizer_zero_grad, run.optimizer);
  const Tensor output = make<Tensor>(htone_module_forward, run.model, run.input, run.policy.get());
  const Tensor logits = make<Tensor>(htone_reshape, output, 2, run.rows.data());
  run.loss = make<Tensor>(htone_cross_entropy, logits, run.targets, nullptr);
  const Tensor scaled = make<Tensor>(htone_grad_scaler_scale, run.scaler, run.loss);
  call(htone_tensor_backward, scaled, nullptr, 0);
  call(htone_grad_scaler_unscale, run.scaler, run.optimizer);
  call(htone_optimizer_clip_grad_norm, run.optimizer, 0.5, 0);
  call(htone_grad_scaler_step, run.scaler, run.optimizer);
  call(htone_grad_scaler_update, run.scaler);
}

// Exceptions must not pass the C interface.
htone_status step_callback(void* user) {
  try {
    step(*static_cast<Run*>(user));
  } catch (const Error& error) {
    return error.status();
  }
  return HTONE_OK;
}

// New data for each step, in the same tensor.
void write_data(Run& run, int number) {
  int64_t count = 0;
  check(htone_tensor_numel(run.targets.get(), &count));
  std::vector<int64_t> targets = classes(count + number, run.rows.back());
  targets.erase(targets.begin(), targets.begin() + number);
  call(htone_tensor_write, run.targets, HTONE_I64, targets.data(), targets.size() * sizeof(int64_t));
}

// The index of a checkpoint: scalars, and a hash of each tensor. What differs between two saves is left out.
std::string checkpoint_of(const Run& run, const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  const Checkpoint checkpoint = make<Checkpoint>(htone_checkpoint_create, run.context, folder.c_str());
  call(htone_checkpoint_add_module, checkpoint, "model", run.model);
  call(htone_checkpoint_add_optimizer, checkpoint, "optimizer", run.optimizer);
  call(htone_checkpoint_add_grad_scaler, checkpoint, "scaler", run.scaler);
  call(htone_checkpoint_save, checkpoint, 1);
  std::ifstream file(folder / "step-1" / "index.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove_all(folder);
  const size_t begin = text.find("\"scalars\"");
  return begin == std::string::npos ? "" : text.substr(begin, text.rfind(']') - begin);
}

struct Result {
  std::vector<double> losses;
  std::string checkpoint;  // weights, buffers, moments, step count, scaler and generator
  double lr;
  double grad_norm;
};

Result result_of(Run& run, std::vector<double> losses, const std::string& name) {
  Result result = {std::move(losses), checkpoint_of(run, name), 0, 0};
  call(htone_optimizer_lr, run.optimizer, &result.lr);
  call(htone_optimizer_grad_norm, run.optimizer, &result.grad_norm);
  return result;
}

Result train(const char* device, const Setting& setting, const std::string& name) {
  Run run = make_run(device, setting);
  std::vector<double> losses;
  for (int i = 0; i < kWarmUp + kSteps + 1; ++i) {
    write_data(run, i);
    step(run);
    losses.push_back(run.loss.item());
  }
  return result_of(run, std::move(losses), name);
}

// Warm-up, capture, replays, and an ordinary step at the end.
Result train_as_graph(const char* device, const Setting& setting, const std::string& name) {
  Run run = make_run(device, setting);
  std::vector<double> losses;
  Graph graph;
  for (int i = 0; i < kWarmUp + kSteps + 1; ++i) {
    write_data(run, i);
    const int64_t before = waits();
    if (i == kWarmUp) {
      graph = make<Graph>(htone_graph_capture, run.device, step_callback, static_cast<void*>(&run), nullptr);
    } else if (i > kWarmUp && i < kWarmUp + kSteps) {
      call(htone_graph_replay, graph);
    } else {
      step(run);
    }
    if (!setting.host_schedule) {
      EXPECT_EQ(waits(), before) << "step " << i;
    }
    losses.push_back(run.loss.item());
  }
  int32_t is_recorded = 0;
  call(htone_graph_is_recorded, graph, &is_recorded);
  EXPECT_EQ(is_recorded, std::string(device) == "cuda" ? 1 : 0);
  return result_of(run, std::move(losses), name);
}

// Likewise, where zero_grad has released the gradients before the capture, and ordinary steps come between replays.
Result train_with_steps_between(const char* device, const Setting& setting, const std::string& name) {
  Run run = make_run(device, setting);
  std::vector<double> losses;
  Graph graph;
  Tensor loss_of_graph;
  for (int i = 0; i < kWarmUp + kSteps + 1; ++i) {
    write_data(run, i);
    if (i == kWarmUp) {
      call(htone_optimizer_zero_grad, run.optimizer);
      graph = make<Graph>(htone_graph_capture, run.device, step_callback, static_cast<void*>(&run), nullptr);
      loss_of_graph = run.loss;
    } else if (i > kWarmUp && i % 2 == 0) {
      call(htone_graph_replay, graph);
      run.loss = loss_of_graph;
    } else {
      step(run);
    }
    losses.push_back(run.loss.item());
  }
  return result_of(run, std::move(losses), name);
}

class GraphTraining : public testing::TestWithParam<Setting> {
 protected:
  using Train = Result(const char* device, const Setting& setting, const std::string& name);

  void compare(const char* device, Train* train_in_graphs) {
    // Tests of one setting may run side by side.
    const std::string name =
        std::string("halftone_graph_") + std::to_string(getpid()) + "_" + GetParam().name + "_" + device;
    const Result expected = train(device, GetParam(), name + "_steps");
    const Result actual = train_in_graphs(device, GetParam(), name + "_graph");
    EXPECT_EQ(actual.losses, expected.losses);
    EXPECT_EQ(actual.lr, expected.lr);
    EXPECT_EQ(actual.grad_norm, expected.grad_norm);
    EXPECT_NE(expected.checkpoint.find("optimizer/step"), std::string::npos);
    EXPECT_EQ(actual.checkpoint, expected.checkpoint);
  }
};

TEST_P(GraphTraining, HasTheBitsOfOrdinarySteps) {
  const int64_t before = emulation_count("cuda_emulation_graphs");
  compare("cuda", train_as_graph);
  const int64_t launches = emulation_count("cuda_emulation_graphs") - before;
  if (gpu_plugin() == nullptr) {
    EXPECT_EQ(launches, kSteps);
  }
}

TEST_P(GraphTraining, HasTheBitsOfOrdinaryStepsWithGradientsOfTheCapture) { compare("cuda", train_with_steps_between); }

TEST_P(GraphTraining, IsTheSameProgramOnTheCpu) { compare("cpu", train_as_graph); }

INSTANTIATE_TEST_SUITE_P(Models, GraphTraining,
                         testing::Values(Setting{"mlp_f16", mlp, HTONE_F16, false, HTONE_MASTER_FULL},
                                         Setting{"mlp_f16_callback", mlp, HTONE_F16, true, HTONE_MASTER_FULL},
                                         Setting{"mlp_bf16_stochastic", mlp, HTONE_BF16, false, HTONE_MASTER_NONE},
                                         Setting{"mlp_bf16_split", mlp, HTONE_BF16, false, HTONE_MASTER_SPLIT},
                                         Setting{"gpt_f16", gpt, HTONE_F16, false, HTONE_MASTER_FULL}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace htone
