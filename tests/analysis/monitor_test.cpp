// A monitor sees a model's tensors in the sampled steps, as references computed apart see them, and changes nothing.
#include "analysis/monitor/monitor.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <thread>

#include "autograd/placement/state_memory.h"
#include "autograd/weights/weights.h"
#include "nn/activations.h"
#include "nn/linear.h"
#include "nn/preparation.h"
#include "nn/sequential.h"
#include "ops/dispatch/autocast.h"
#include "ops/ops.h"
#include "optim/grad_scaler.h"
#include "optim/sgd.h"
#include "optim/shared_parameter.h"
#include "room_fixture.h"
#include "tensor/state_dict.h"

namespace halftone::analysis {
namespace {

using optim::Master;
using optim::Optimizer;
using optim::Precision;

constexpr SgdGroup kSgd = {.lr = 0.5, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0};

class MonitorTest : public RoomTest {
 protected:
  MonitorTest() { make_model(); }

  void make_model() {
    context().set_generator(kRoomSeed, 0);
    model_ = make_ref<nn::Sequential>(
        std::vector<Ref<nn::Module>>{make_ref<nn::Linear>(device(), 6, 5, true, DType::kF32), make_ref<nn::Relu>(),
                                     make_ref<nn::Linear>(device(), 5, 3, true, DType::kF32)});
  }

  static Ref<Optimizer> sgd_of(const nn::Module& module) {
    return make_ref<optim::Sgd>(optim::ParameterGroup{.parameters = module.parameters(), .precision = {}}, kSgd);
  }
  Ref<Optimizer> sgd(const Precision& precision = {}, const SgdGroup& settings = kSgd) {
    return make_ref<optim::Sgd>(optim::ParameterGroup{.parameters = model_->parameters(), .precision = precision},
                                settings);
  }
  Ref<Monitor> monitor(const Ref<Optimizer>& optimizer, const MonitorSettings& settings = {.interval = 1}) {
    return make_ref<Monitor>(device(), model_, optimizer, settings);
  }
  Tensor batch(int64_t step) {
    const Tensor x = empty(device(), DType::kF32, {4, 6});
    fill_normal(x, PhiloxKey{.seed = 1, .sequence = static_cast<uint64_t>(step)}, 0, 1);
    return x;
  }
  Tensor loss_of(const Tensor& input) {
    const ScopeGuard restore;
    scope().autocast = policy_.get();
    const Tensor output = model_->run(input);
    return ops::mean(ops::mul(output, output), {}, false);
  }
  void train(Optimizer& optimizer, int64_t step) {
    optimizer.zero_grad();
    run_backward(loss_of(batch(step)), Tensor(), false);
    optimizer.step();
  }
  // Steps first to last, and all samples.
  std::vector<TensorSample> train(Monitor& monitor, Optimizer& optimizer, int64_t first, int64_t last) {
    for (int64_t step = first; step <= last; ++step) {
      monitor.begin_step(step);
      train(optimizer, step);
      monitor.end_step();
    }
    return monitor.take(true);
  }

  const Parameter& parameter(const std::string& name) {
    for (const NamedParameter& named : model_->parameters()) {
      if (named.name == name) return *named.parameter;
    }
    throw std::runtime_error(name);
  }

  Ref<nn::Module> model_;
  Ref<AutocastPolicy> policy_;  // of forwards; null: none
};

// "gradient 0.weight", or "activation 0 linear".
std::string key_of(const TensorRecord& record) {
  static constexpr const char* kKinds[] = {"parameter ", "gradient ", "activation "};
  const std::string key = kKinds[static_cast<int>(record.kind)] + record.name;
  return record.op.empty() ? key : key + " " + record.op;
}

std::vector<std::string> keys_of(const TensorSample& sample) {
  std::vector<std::string> keys;
  for (const TensorRecord& record : sample.tensors) keys.push_back(key_of(record));
  return keys;
}

TensorRecord find(const TensorSample& sample, const std::string& key) {
  for (const TensorRecord& record : sample.tensors) {
    if (key_of(record) == key) return record;
  }
  ADD_FAILURE() << "no " << key;
  return {};
}

std::vector<int64_t> steps_of(const std::vector<TensorSample>& samples) {
  std::vector<int64_t> steps;
  for (const TensorSample& sample : samples) steps.push_back(sample.step);
  return steps;
}

double norm_of(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

// From the values.
void expect_summary(const TensorRecord& record, const std::vector<double>& values) {
  int64_t zeros = 0, counted = 0;
  double largest = 0;
  for (const double value : values) {
    zeros += value == 0 ? 1 : 0;
    largest = std::max(largest, std::fabs(value));
  }
  for (const int64_t count : record.summary.exponents) counted += count;
  EXPECT_EQ(record.elements, static_cast<int64_t>(values.size())) << key_of(record);
  EXPECT_EQ(record.summary.extremes.zeros, zeros) << key_of(record);
  EXPECT_EQ(counted + zeros, record.elements) << key_of(record);
  EXPECT_EQ(record.summary.amax(), static_cast<float>(largest)) << key_of(record);
  EXPECT_NEAR(record.norm, norm_of(values), 1e-12 * norm_of(values)) << key_of(record);
}

TEST_F(MonitorTest, SamplesEveryTensorOfTheStepsThatTheIntervalNames) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer, {.interval = 3});
  const std::vector<TensorSample> samples = train(*watching, *optimizer, 1, 8);
  EXPECT_EQ(steps_of(samples), (std::vector<int64_t>{1, 4, 7}));
  for (const TensorSample& sample : samples) {
    EXPECT_EQ(keys_of(sample), (std::vector<std::string>{
                                   "activation 0 linear", "activation 1 relu", "activation 2 linear",
                                   "gradient 0.weight", "parameter 0.weight", "gradient 0.bias", "parameter 0.bias",
                                   "gradient 2.weight", "parameter 2.weight", "gradient 2.bias", "parameter 2.bias"}));
  }
}

TEST_F(MonitorTest, ARunThatGoesOnKeepsItsSteps) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer, {.interval = 10});
  EXPECT_EQ(steps_of(train(*watching, *optimizer, 18, 22)), std::vector<int64_t>{21});
}

TEST_F(MonitorTest, SummarizesTheValuesOfTheStep) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer);
  const std::vector<double> hidden = values(model_->child(0)->run(batch(1)));
  const std::vector<double> before = values(parameter("2.weight").weights().read(DType::kF32));
  const TensorSample sample = train(*watching, *optimizer, 1, 1).at(0);
  const std::vector<double> after = values(parameter("2.weight").weights().read(DType::kF32));
  const std::vector<double> gradient = values(parameter("2.weight").grad());
  expect_summary(find(sample, "activation 0 linear"), hidden);
  expect_summary(find(sample, "gradient 2.weight"), gradient);
  const TensorRecord weights = find(sample, "parameter 2.weight");
  expect_summary(weights, before);
  UpdateSummary counts;
  std::vector<double> updates;
  for (size_t i = 0; i < before.size(); ++i) {
    updates.push_back(after[i] - before[i]);
    const int kind =
        update_kind(static_cast<float>(before[i]), static_cast<float>(after[i]), static_cast<float>(gradient[i]));
    if (kind < kRatioBins) ++counts.ratios[kind];
    counts.lost += kind == kLostUpdate ? 1 : 0;
    counts.still += kind == kStillWeight ? 1 : 0;
  }
  ASSERT_TRUE(weights.update);
  EXPECT_EQ(weights.update->counts, counts);
  EXPECT_NEAR(weights.update->norm, norm_of(updates), 1e-6 * norm_of(updates));
  EXPECT_FALSE(find(sample, "gradient 2.weight").update);
}

TEST_F(MonitorTest, AddsUpTheUsesOfALayerInOneStep) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer);
  std::vector<double> both;
  for (const int64_t part : {1, 2}) {
    for (const double value : values(model_->run(batch(part)))) both.push_back(value);
  }
  watching->begin_step(1);
  for (const int64_t part : {1, 2}) run_backward(loss_of(batch(part)), Tensor(), false);
  optimizer->step();
  watching->end_step();
  const TensorSample sample = watching->take(true).at(0);
  expect_summary(find(sample, "activation 2 linear"), both);
  EXPECT_EQ(find(sample, "gradient 2.weight").elements, 15);
}

TEST_F(MonitorTest, SeesTheLayersOfItsOwnModelAlone) {
  const Ref<Monitor> part = make_ref<Monitor>(device(), Ref<const nn::Module>::share(model_->child(2)), nullptr,
                                              MonitorSettings{.interval = 1});
  const Ref<Monitor> whole = monitor(nullptr);
  for (const Ref<Monitor>& watching : {part, whole}) watching->begin_step(1);
  loss_of(batch(1));
  nn::Linear(device(), 6, 5, true, DType::kF32).run(batch(1));
  for (const Ref<Monitor>& watching : {whole, part}) watching->end_step();
  EXPECT_EQ(thread().observer, nullptr);
  EXPECT_EQ(keys_of(part->take(true).at(0)), std::vector<std::string>{"activation (model) linear"});
  EXPECT_EQ(whole->take(true).at(0).tensors.size(), 3u);
}

TEST_F(MonitorTest, LeavesViewsOut) {
  const Ref<nn::Module> flat = make_ref<nn::Flatten>();
  const Ref<Monitor> watching = make_ref<Monitor>(device(), flat, nullptr, MonitorSettings{.interval = 1});
  watching->begin_step(1);
  flat->run(tensor({1, 2, 2}, {1, 2, 3, 4}));
  watching->end_step();
  EXPECT_TRUE(watching->take(true).at(0).tensors.empty());
}

TEST_F(MonitorTest, TrainsToTheSameBits) {
  policy_ = make_ref<AutocastPolicy>(DType::kBF16);
  for (const Precision& precision :
       {Precision{}, Precision{.compute_dtype = DType::kBF16, .master = Master::kSplit},
        Precision{.compute_dtype = DType::kBF16, .grad_dtype = DType::kBF16, .master = Master::kNone}}) {
    const auto result = [&](bool is_watched) {
      make_model();
      const Ref<Optimizer> optimizer = sgd(precision);
      const Ref<Monitor> watching = monitor(optimizer, {.interval = 2, .noise = true});
      for (int64_t step = 1; step <= 7; ++step) {
        if (is_watched) watching->begin_step(step);
        train(*optimizer, step);
        if (is_watched) watching->end_step();
      }
      return values(parameter("0.weight").weights().read(DType::kF32));
    };
    EXPECT_EQ(result(true), result(false));
  }
}

// ---- Weights

// At a rate of 0 every update is lost; FP32 keeps the others, and BF16, which rounds to nearest or stochastically,
// loses most of those that are far below its step.
TEST_F(MonitorTest, ComparesTheWeightsThatAreUpdated) {
  const struct {
    Precision precision;
    DType dtype;
  } cases[] = {{{}, DType::kF32},
               {{.compute_dtype = DType::kBF16}, DType::kF32},
               {{.compute_dtype = DType::kBF16, .master = Master::kSplit}, DType::kF32},
               {{.compute_dtype = DType::kBF16, .grad_dtype = DType::kBF16, .master = Master::kNone}, DType::kBF16}};
  policy_ = make_ref<AutocastPolicy>(DType::kBF16);
  for (const auto& one : cases) {
    for (const double lr : {0.0, 1e-4, 1.0}) {
      make_model();
      SgdGroup settings = kSgd;
      settings.lr = lr;
      const Ref<Optimizer> optimizer = sgd(one.precision, settings);
      const TensorSample sample = train(*monitor(optimizer), *optimizer, 1, 1).at(0);
      const TensorRecord weights = find(sample, "parameter 2.weight");
      ASSERT_TRUE(weights.update);
      EXPECT_EQ(weights.dtype, one.dtype);
      const UpdateSummary& counts = weights.update->counts;
      const int64_t with_gradient = weights.elements - counts.still;
      EXPECT_GT(with_gradient, 5);
      if (lr == 0) {
        EXPECT_EQ(counts.lost, with_gradient);
      } else if (lr == 1) {
        EXPECT_LT(counts.lost, with_gradient / 4);
      } else {
        EXPECT_EQ(2 * counts.lost > with_gradient, one.dtype == DType::kBF16);
      }
      EXPECT_EQ(weights.update->norm > 0, lr > 0);
    }
  }
}

TEST_F(MonitorTest, FrozenParametersHaveNoRecord) {
  const Ref<Optimizer> optimizer = sgd();
  model_->parameters()[0].parameter->set_frozen(true);
  const TensorSample sample = train(*monitor(optimizer), *optimizer, 1, 1).at(0);
  EXPECT_EQ(sample.tensors.size(), 3u + 2 * 3);
}

// ---- Weights that are elsewhere

Ref<nn::Linear> shared_layer(ContextDevice& device, const Ref<ShardRanks>& ranks) {
  auto layer = make_ref<nn::Linear>(device, 40, 20, false, DType::kF32);
  optim::share(layer->parameters()[0].parameter, {.begin = 256, .end = 512}, ranks);
  return layer;
}

TEST_F(MonitorTest, RecordsThePartThatThisRankUpdates) {
  const auto layer = shared_layer(device(), make_ref<optim::LoneRank>());
  Parameter& weight = *layer->parameters()[0].parameter;
  const Ref<Optimizer> optimizer = sgd_of(*layer);
  const auto watching = make_ref<Monitor>(device(), layer, optimizer, MonitorSettings{.interval = 1});
  watching->begin_step(1);
  const Tensor gradient = empty(device(), DType::kF32, {256});
  fill_normal(gradient, PhiloxKey{.seed = 1, .sequence = 1}, 0, 1);
  weight.placement().set_shard_grad(gradient);
  const std::vector<double> before = values(weight.weights().kept());
  optimizer->step();
  watching->end_step();
  const TensorSample sample = watching->take(true).at(0);
  expect_summary(find(sample, "gradient weight"), values(gradient));
  expect_summary(find(sample, "parameter weight"), before);
  EXPECT_EQ(find(sample, "parameter weight").update->counts.lost, 0);
}

// Weights in a file, as far as a monitor asks.
class Elsewhere final : public StateMemory {
 public:
  Tensor zeros(const Parameter& parameter, const Part&, DType dtype, int64_t size) override {
    return full(parameter.device(), dtype, {size}, 0);
  }
  void start_fetch() override {}
  void fetch() override {}
  void start_put_back() noexcept override {}
  void finish_put_back() override {}
  Ref<const StateStore> store_of(const Tensor& state) override { return make_ref<Store>(state); }

 private:
  struct Store final : StateStore {
    explicit Store(Tensor state) : state(std::move(state)) {}
    DType dtype() const noexcept override { return state.dtype(); }
    const Shape& shape() const noexcept override { return state.shape(); }
    ContextDevice& device() const noexcept override { return state.device(); }
    void read(int64_t, const Tensor&) const override {}
    void write(const Tensor&) const override {}
    Tensor state;
  };
};

TEST_F(MonitorTest, RefusesWeightsThatAreOffloaded) {
  const auto layer = shared_layer(device(), make_ref<optim::LoneRank>());
  const Ref<Optimizer> optimizer = sgd_of(*layer);
  layer->parameters()[0].parameter->placement().set_state_memory(make_ref<Elsewhere>());
  const auto make = [&](bool parameters) {
    make_ref<Monitor>(device(), layer, optimizer, MonitorSettings{.parameters = parameters});
  };
  EXPECT_EQ(code_of([&] { make(true); }), Code::kUnsupported);
  EXPECT_EQ(code_of([&] { make(false); }), Code::kOk);
}

// ---- Scaled gradients and skipped steps

TEST_F(MonitorTest, AGradientHasTheScaleThatItsNumbersCarry) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer);
  optim::GradScaler scaler(device(), ScalerSettings(), 1024, true);
  watching->begin_step(1);
  run_backward(scaler.scale(loss_of(batch(1))), Tensor(), false);
  scaler.unscale(*optimizer);
  optimizer->gradients().clip_norm(1e-3);
  scaler.step(*optimizer);
  scaler.update();
  watching->end_step();
  const TensorSample sample = watching->take(true).at(0);
  const TensorRecord gradient = find(sample, "gradient 0.weight");
  EXPECT_EQ(gradient.scale, 1024);
  expect_summary(gradient, values(parameter("0.weight").grad()));
  EXPECT_TRUE(find(sample, "parameter 0.weight").update);
}

TEST_F(MonitorTest, ASkippedStepHasNoUpdate) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer);
  optim::GradScaler scaler(device(), ScalerSettings(), 1024, true);
  watching->begin_step(1);
  const double infinity = std::numeric_limits<double>::infinity();
  run_backward(scaler.scale(ops::rescale(loss_of(batch(1)), infinity, 0)), Tensor(), false);
  scaler.step(*optimizer);
  scaler.update();
  watching->end_step();
  const TensorSample sample = watching->take(true).at(0);
  const TensorRecord gradient = find(sample, "gradient 2.bias");
  EXPECT_EQ(gradient.summary.extremes.infinities + gradient.summary.extremes.nans, 3);
  EXPECT_TRUE(std::isnan(gradient.norm));
  EXPECT_FALSE(find(sample, "parameter 2.bias").update);
}

// ---- Noise

// Infinite where the estimate of the square is not above 0.
double noise_of(const std::vector<double>& first, const std::vector<double>& second) {
  double squares = 0, product = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    squares += std::pow(first[i] - second[i], 2);
    product += first[i] * second[i];
  }
  return product > 0 ? squares / 2 / product : std::numeric_limits<double>::infinity();
}

TEST_F(MonitorTest, NoiseIsTheVarianceByTheSquareOfTheMean) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer, {.interval = 2, .noise = true});
  std::map<std::string, std::vector<std::vector<double>>> gradients;
  for (int64_t step = 1; step <= 2; ++step) {
    watching->begin_step(step);
    train(*optimizer, step);
    watching->end_step();
    for (const NamedParameter& named : model_->parameters()) {
      gradients[named.name].push_back(values(named.parameter->grad()));
    }
  }
  const TensorSample sample = watching->take(false).at(0);
  int finite = 0;
  for (const auto& [name, both] : gradients) {
    const TensorRecord record = find(sample, "gradient " + name);
    ASSERT_TRUE(record.noise);
    const double expected = noise_of(both[0], both[1]);
    finite += std::isfinite(expected) ? 1 : 0;
    EXPECT_FLOAT_EQ(static_cast<float>(*record.noise), static_cast<float>(expected)) << name;
  }
  EXPECT_GT(finite, 0);
}

TEST_F(MonitorTest, EqualGradientsHaveNoNoiseAndOppositeOnesNothingElse) {
  SgdGroup still = kSgd;
  still.lr = 0;
  const auto noise_with = [&](double second) {
    make_model();
    const Ref<Optimizer> optimizer = sgd({}, still);
    const Ref<Monitor> watching = monitor(optimizer, {.interval = 2, .noise = true});
    for (int64_t step = 1; step <= 2; ++step) {
      watching->begin_step(step);
      optimizer->zero_grad();
      run_backward(ops::rescale(loss_of(batch(1)), step == 1 ? 1 : second, 0), Tensor(), false);
      optimizer->step();
      watching->end_step();
    }
    return find(watching->take(true).at(0), "gradient 2.bias").noise;
  };
  EXPECT_EQ(noise_with(1), 0);
  EXPECT_EQ(noise_with(-1), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(noise_with(std::numeric_limits<double>::infinity()));
}

TEST_F(MonitorTest, GradientsOfDifferentScalesAreNotCompared) {
  for (const int64_t growth_interval : {1, 100}) {
    const Ref<Optimizer> optimizer = sgd();
    const Ref<Monitor> watching = monitor(optimizer, {.interval = 2, .noise = true});
    ScalerSettings settings;
    settings.growth_interval = growth_interval;
    optim::GradScaler scaler(device(), settings, 1024, true);
    for (int64_t step = 1; step <= 2; ++step) {
      watching->begin_step(step);
      optimizer->zero_grad();
      run_backward(scaler.scale(loss_of(batch(step))), Tensor(), false);
      scaler.step(*optimizer);
      scaler.update();
      watching->end_step();
    }
    EXPECT_EQ(find(watching->take(true).at(0), "gradient 2.bias").noise.has_value(), growth_interval == 100);
    make_model();
  }
}

TEST_F(MonitorTest, ASampleWithoutANextStepHasNoNoise) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer, {.interval = 5, .noise = true});
  const std::vector<TensorSample> samples = train(*watching, *optimizer, 1, 1);
  EXPECT_FALSE(find(samples.at(0), "gradient 2.bias").noise);
}

// ---- Steps that fail

TEST_F(MonitorTest, ADroppedStepLeavesNothing) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer);
  watching->begin_step(1);
  loss_of(batch(1));
  watching->drop_step();
  EXPECT_EQ(thread().observer, nullptr);
  EXPECT_EQ(optimizer->watcher(), nullptr);
  EXPECT_EQ(steps_of(train(*watching, *optimizer, 1, 2)), (std::vector<int64_t>{1, 2}));
}

TEST_F(MonitorTest, AStepThatBeginsReplacesOneThatHasNotEnded) {
  const Ref<Optimizer> optimizer = sgd();
  const Ref<Monitor> watching = monitor(optimizer);
  watching->begin_step(1);
  loss_of(batch(1));
  const TensorSample sample = train(*watching, *optimizer, 1, 1).at(0);
  EXPECT_EQ(find(sample, "activation 1 relu").elements, 20);
  EXPECT_EQ(thread().observer, nullptr);
}

// The weights move all the same, and the next sample is whole.
TEST_F(MonitorTest, M12_AnErrorOfTheSamplingFailsTheEndOfTheStepAlone) {
  const auto layer = make_ref<nn::Linear>(device(), 600, 600, false, DType::kF32);
  const Ref<Optimizer> optimizer = sgd_of(*layer);
  const auto watching = make_ref<Monitor>(device(), layer, optimizer, MonitorSettings{.interval = 1});
  const Tensor input = full(device(), DType::kF32, {2, 600}, 1);
  const auto step = [&](int64_t number, bool fails) {
    watching->begin_step(number);
    optimizer->zero_grad();
    run_backward(ops::sum(layer->run(input), {}, false), Tensor(), false);
    device().allocator->release_cached();
    device().allocator->set_limit(fails ? 1 : 0);
    optimizer->step();
    device().allocator->set_limit(0);
    watching->end_step();
  };
  step(1, false);
  const std::vector<double> before = values(layer->parameters()[0].parameter->weights().kept());
  EXPECT_EQ(code_of([&] { step(2, true); }), Code::kOutOfMemory);
  EXPECT_NE(values(layer->parameters()[0].parameter->weights().kept()), before);
  step(3, false);
  const std::vector<TensorSample> samples = watching->take(true);
  EXPECT_EQ(steps_of(samples), (std::vector<int64_t>{1, 3}));
  EXPECT_TRUE(find(samples[1], "parameter weight").update);
  EXPECT_EQ(optimizer->watcher(), nullptr);
}

TEST_F(MonitorTest, EndsOnTheThreadThatBegan) {
  const Ref<Monitor> watching = monitor(nullptr);
  watching->begin_step(1);
  std::thread([&] { EXPECT_EQ(code_of([&] { watching->end_step(); }), Code::kState); }).join();
  loss_of(batch(1));  // its observer has no effect any more
  watching->begin_step(2);
  loss_of(batch(2));
  watching->end_step();
  EXPECT_EQ(steps_of(watching->take(true)), std::vector<int64_t>{2});
  EXPECT_EQ(thread().observer, nullptr);
}

TEST_F(MonitorTest, MayGoInAStep) {
  const Ref<Optimizer> optimizer = sgd();
  monitor(optimizer)->begin_step(1);
  EXPECT_EQ(thread().observer, nullptr);
  train(*optimizer, 1);
  Ref<Monitor> watching = monitor(optimizer);
  watching->begin_step(1);
  std::thread([&] { watching = nullptr; }).join();
  train(*optimizer, 2);
  const Ref<Monitor> next = monitor(optimizer);
  EXPECT_EQ(steps_of(train(*next, *optimizer, 1, 1)), std::vector<int64_t>{1});
  EXPECT_EQ(thread().observer, nullptr);
}

}  // namespace
}  // namespace halftone::analysis
