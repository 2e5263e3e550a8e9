#include "analysis/statistics/statistics.h"

#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "ops/ops.h"
#include "optim/grad_scaler.h"
#include "optim/sgd.h"
#include "room_fixture.h"
#include "temporary_folder.h"

namespace halftone::analysis {
namespace {

using nlohmann::json;

// A clock that a test moves.
int64_t test_time = 0;
int64_t read_test_time(void*) { return test_time; }

ContextOptions options_with_clock() {
  ContextOptions options;
  options.num_threads = 1;
  options.clock.monotonic_ns = read_test_time;
  return options;
}

// Notes its calls, and has one tensor for each step once the next one has begun.
class TestWatcher final : public StepWatcher {
 public:
  void begin_step(int64_t step) override {
    calls += "begin " + std::to_string(step) + ";";
    if (fails) fail(Code::kUnsupported, "", "the watcher fails");
    step_ = step;
  }
  void end_step() override { calls += "end;"; }
  void drop_step() noexcept override { calls += "drop;"; }
  std::vector<TensorSample> take(bool waits) override {
    std::vector<TensorSample> ready;
    while (taken_ < (waits ? step_ : step_ - 1)) {
      TensorRecord tensor;
      tensor.kind = TensorKind::kGradient;
      tensor.name = "w";
      tensor.elements = ++taken_;
      ready.push_back({taken_, {tensor}});
    }
    return ready;
  }

  std::string calls;
  bool fails = false;

 private:
  int64_t step_ = 0, taken_ = 0;
};

class StatisticsTest : public testing::Test {
 protected:
  StatisticsTest() { test_time = 0; }

  static StatisticsSettings settings(size_t capacity = 4) {
    return {.capacity = capacity, .spike_window = 10, .spike_deviations = 6.0, .label = "test"};
  }
  ContextDevice& device() { return context_->device("cpu"); }

  static void take_step(Statistics& statistics, double loss) {
    statistics.begin_step();
    test_time += 1'000'000'000;
    statistics.end_step(loss, 8);
  }

  std::vector<json> lines() const {
    std::vector<json> lines;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
    return lines;
  }
  // "run step step event": of all lines, or of those of one step.
  std::string kinds(int64_t step = -1) const {
    std::string kinds;
    for (const json& line : lines()) {
      if (step < 0 || line["step"] == step) kinds += (kinds.empty() ? "" : " ") + line["record"].get<std::string>();
    }
    return kinds;
  }

  const Ref<Context> context_ = make_ref<Context>(options_with_clock());
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("run.jsonl");
};

TEST_F(StatisticsTest, AStepHasTheTimesOfItsParts) {
  const auto statistics = make_ref<Statistics>(device(), settings());
  statistics->begin_step();
  test_time += 1'000'000'000;
  statistics->begin_part(StepPart::kData);
  test_time += 2'000'000'000;
  statistics->begin_part(StepPart::kForward);
  test_time += 3'000'000'000;
  statistics->begin_part(StepPart::kData);
  test_time += 4'000'000'000;
  statistics->end_step(2.5, 20);
  const auto record = statistics->history().step(1);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->loss, 2.5);
  EXPECT_DOUBLE_EQ(record->seconds, 10.0);
  EXPECT_DOUBLE_EQ(record->items_per_second(), 2.0);
  const double expected[kStepParts] = {1.0, 6.0, 3.0, 0.0, 0.0};
  for (int i = 0; i < kStepParts; ++i) EXPECT_DOUBLE_EQ(record->part_seconds[i], expected[i]) << i;
  EXPECT_EQ(record->outcome, StepOutcome::kUnknown);
  EXPECT_FALSE(record->lr);
}

TEST_F(StatisticsTest, MemoryIsThatOfTheFullestMomentOfTheStep) {
  const auto statistics = make_ref<Statistics>(device(), settings());
  const auto in_use = [&] { return device().allocator->stats().by_category[static_cast<int>(Category::kOther)]; };
  const int64_t before = in_use();
  statistics->begin_step();
  {
    const Tensor large = empty(device(), DType::kF32, {1'000});
    statistics->begin_part(StepPart::kBackward);
  }
  statistics->end_step(1, 1);
  take_step(*statistics, 1);
  EXPECT_EQ(statistics->history().step(1)->memory[0], before + 4'000);
  EXPECT_GE(statistics->history().step(1)->peak_memory, before + 4'000);
  EXPECT_EQ(statistics->history().step(2)->memory[0], before);
}

TEST_F(StatisticsTest, TheRingKeepsTheLastSteps) {
  const auto statistics = make_ref<Statistics>(device(), settings(4));
  for (int i = 1; i <= 10; ++i) take_step(*statistics, i == 8 ? NAN : i);
  const RunHistory& history = statistics->history();
  EXPECT_FALSE(history.step(6));
  EXPECT_EQ(history.step(7)->loss, 7);
  EXPECT_EQ(history.step(10)->step, 10);
  EXPECT_FALSE(history.step(11));
  const RunSummary summary = history.summary();
  EXPECT_EQ(summary.steps, 10);
  EXPECT_EQ(summary.recorded, 10);
  EXPECT_EQ(summary.kept, 4);
  EXPECT_EQ(summary.spikes, 1);
  EXPECT_DOUBLE_EQ(summary.mean_loss, 26.0 / 3);
  EXPECT_DOUBLE_EQ(summary.mean_seconds, 1.0);
  EXPECT_DOUBLE_EQ(summary.items_per_second, 8.0);
  EXPECT_DOUBLE_EQ(summary.mean_part_seconds[0], 1.0);
  EXPECT_EQ(summary.last.loss, 10);
}

TEST_F(StatisticsTest, AnEmptyRecordHasASummary) {
  const auto statistics = make_ref<Statistics>(device(), settings());
  const RunSummary summary = statistics->history().summary();
  EXPECT_EQ(summary.steps, 0);
  EXPECT_TRUE(std::isnan(summary.mean_loss));
  EXPECT_EQ(summary.mean_seconds, 0.0);
  EXPECT_FALSE(statistics->history().step(0));
  EXPECT_FALSE(statistics->history().last_spike());
  EXPECT_FALSE(statistics->history().tensor(0));
}

TEST_F(StatisticsTest, CallsInTheWrongOrderChangeNothing) {
  const auto statistics = make_ref<Statistics>(device(), settings());
  EXPECT_EQ(code_of([&] { statistics->begin_part(StepPart::kData); }), Code::kState);
  EXPECT_EQ(code_of([&] { statistics->end_step(1, 1); }), Code::kState);
  statistics->cancel_step();
  statistics->begin_step();
  EXPECT_EQ(code_of([&] { statistics->begin_step(); }), Code::kState);
  EXPECT_EQ(code_of([&] { statistics->set_step_count(5); }), Code::kState);
  statistics->cancel_step();
  EXPECT_FALSE(statistics->is_in_step());
  statistics->set_step_count(5);
  take_step(*statistics, 1);
  EXPECT_EQ(statistics->history().steps(), 6);
  statistics->write_to(path_);
  EXPECT_EQ(code_of([&] { statistics->set_step_count(7); }), Code::kState);
}

TEST_F(StatisticsTest, EachStepsLinesAreInTheFileWhenItEnds) {
  const auto statistics = make_ref<Statistics>(device(), settings());
  statistics->write_to(path_);
  EXPECT_EQ(kinds(), "run");
  EXPECT_EQ(lines()[0]["label"], "test");
  EXPECT_EQ(lines()[0]["device"], "cpu");
  EXPECT_EQ(lines()[0]["threads"], 1);
  take_step(*statistics, 1);
  take_step(*statistics, NAN);
  EXPECT_EQ(kinds(), "run step step event");
  EXPECT_EQ(lines()[3]["event"], "spike");
  EXPECT_EQ(lines()[3]["quantity"], "loss");
  statistics->add_event(evaluation_event(2));
  statistics->begin_step();
  statistics->add_event(checkpoint_event());
  EXPECT_EQ(lines()[4]["step"], 2);
  EXPECT_EQ(lines()[5]["step"], 3);
}

TEST_F(StatisticsTest, ARunThatGoesOnCountsOnAndKeepsItsLines) {
  {
    const auto statistics = make_ref<Statistics>(device(), settings());
    statistics->write_to(path_);
    for (int i = 1; i <= 5; ++i) take_step(*statistics, i);
  }
  const auto statistics = make_ref<Statistics>(device(), settings());
  statistics->set_step_count(3);
  statistics->write_to(path_);
  take_step(*statistics, 40);
  EXPECT_EQ(kinds(), "run step step step run step");
  EXPECT_EQ(lines()[4]["step"], 3);
  EXPECT_EQ(lines()[5]["step"], 4);
  EXPECT_EQ(lines()[5]["loss"], 40);
}

TEST_F(StatisticsTest, WatchersAreToldOfStepsAndTheirTensorsAreKept) {
  const auto watcher = make_ref<TestWatcher>();
  {
    const auto statistics = make_ref<Statistics>(device(), settings());
    statistics->add_watcher(watcher);
    statistics->write_to(path_);
    take_step(*statistics, 1);
    EXPECT_EQ(watcher->calls, "begin 1;end;");
    EXPECT_EQ(statistics->history().tensor_count(), 0u);
    take_step(*statistics, 2);
    EXPECT_EQ(statistics->history().tensor_count(), 1u);
    EXPECT_EQ(statistics->history().tensor(0)->step, 1);
    statistics->sync();
    EXPECT_EQ(kinds(), "run step step tensor");
    statistics->flush();
    EXPECT_EQ(kinds(2), "step tensor");
    EXPECT_EQ(statistics->history().tensor(0)->step, 2);
    EXPECT_EQ(statistics->history().tensor(0)->record.elements, 2);
    EXPECT_FALSE(statistics->history().tensor(1));
    statistics->begin_step();
    statistics->cancel_step();
    EXPECT_EQ(watcher->calls, "begin 1;end;begin 2;end;begin 3;drop;");
    take_step(*statistics, 3);
  }
  EXPECT_EQ(kinds(3), "step tensor");
}

TEST_F(StatisticsTest, AWatcherThatFailsBeginsNoStep) {
  const auto watcher = make_ref<TestWatcher>();
  const auto statistics = make_ref<Statistics>(device(), settings());
  statistics->add_watcher(watcher);
  watcher->fails = true;
  EXPECT_EQ(code_of([&] { statistics->begin_step(); }), Code::kUnsupported);
  EXPECT_FALSE(statistics->is_in_step());
  EXPECT_EQ(watcher->calls, "begin 1;drop;");
  watcher->fails = false;
  take_step(*statistics, 1);
  EXPECT_EQ(statistics->history().steps(), 1);
}

TEST_F(StatisticsTest, TheCallbackSeesASpikeThatIsRecorded) {
  const auto statistics = make_ref<Statistics>(device(), settings());
  std::string seen;
  statistics->write_to(path_);
  statistics->set_spike_callback([&](const Spike& spike) {
    seen += name_of(spike.quantity) + std::to_string(spike.step);
    EXPECT_EQ(statistics->history().last_spike()->step, spike.step);
    EXPECT_EQ(kinds(spike.step), "step event");
    EXPECT_FALSE(statistics->is_in_step());
    if (spike.step == 2) fail(Code::kCallback, "", "stop");
    statistics->set_spike_callback({});
  });
  take_step(*statistics, 1);
  EXPECT_EQ(code_of([&] { take_step(*statistics, NAN); }), Code::kCallback);
  EXPECT_EQ(statistics->history().steps(), 2);
  take_step(*statistics, std::numeric_limits<double>::infinity());
  take_step(*statistics, NAN);
  EXPECT_EQ(seen, "loss2loss3");
  EXPECT_EQ(statistics->history().summary().spikes, 3);
}

// A weight of 1 whose gradient is a factor times the loss scale.
class RecordedTraining : public StatisticsTest {
 protected:
  RecordedTraining() { statistics_->set_optimizer(optimizer_, scaler_); }

  void train(double factor, bool clips = true) {
    statistics_->begin_step();
    optimizer_->zero_grad();
    const Tensor loss = ops::sum(ops::rescale(weight_->leaf(), factor, 0), {}, false);
    run_backward(scaler_->scale(loss), Tensor(), false);
    scaler_->unscale(*optimizer_);
    if (clips) optimizer_->gradients().clip_norm(100);
    scaler_->step(*optimizer_);
    scaler_->update();
    statistics_->end_step(factor, 1);
  }
  StepRecord step(int64_t number) const { return statistics_->history().step(number).value(); }

  static Tensor one(ContextDevice& device) {
    const double value = 1;
    return converted(from_host(device, DType::kF64, {1}, &value), DType::kF32);
  }
  const Ref<Parameter> weight_ = make_ref<Parameter>("weight", one(device()));
  const Ref<optim::Sgd> optimizer_ = make_ref<optim::Sgd>(
      optim::ParameterGroup{.parameters = {{"weight", weight_}}, .precision = {}},
      SgdGroup{.lr = 0.25, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0});
  const Ref<optim::GradScaler> scaler_ =
      make_ref<optim::GradScaler>(device(), ScalerSettings{.growth_interval = 2}, 1024.0f, true);
  const Ref<Statistics> statistics_ = make_ref<Statistics>(device(), settings(100));
};

TEST_F(RecordedTraining, AStepHasItsRateScaleOutcomeAndNorm) {
  train(3);
  EXPECT_EQ(step(1).lr, 0.25);
  EXPECT_EQ(step(1).loss_scale, 1024);
  EXPECT_EQ(step(1).outcome, StepOutcome::kStepped);
  EXPECT_EQ(step(1).grad_norm, 3);
  EXPECT_EQ(step(1).overflow, "");
}

TEST_F(RecordedTraining, TheScalesOfARunAreItsHistory) {
  statistics_->write_to(path_);
  const double infinity = std::numeric_limits<double>::infinity();
  for (double factor : {1.0, 1.0, 1.0, infinity, 1.0, 1.0, 1.0}) train(factor);
  const double scales[] = {1024, 1024, 2048, 2048, 1024, 1024, 2048};
  std::vector<json> steps;
  for (const json& line : lines()) {
    if (line["record"] == "step") steps.push_back(line);
  }
  ASSERT_EQ(steps.size(), std::size(scales));
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i]["loss_scale"], scales[i]) << i;
  EXPECT_EQ(steps[3]["outcome"], "skipped");
  EXPECT_EQ(steps[3]["overflow"], "weight");
  EXPECT_TRUE(steps[3]["grad_norm"].is_null());
  EXPECT_EQ(statistics_->history().summary().skipped, 1);
}

TEST_F(RecordedTraining, AnOverflowUnderALossScaleIsNoSpikeOfTheNorm) {
  std::string seen;
  statistics_->set_spike_callback([&](const Spike& spike) { seen += name_of(spike.quantity); });
  train(std::numeric_limits<double>::infinity());
  EXPECT_EQ(seen, "loss");
  for (int i = 0; i < 10; ++i) train(1);
  train(50);
  EXPECT_EQ(seen, "losslossgrad_norm");
  statistics_->set_optimizer({}, {});
  train(1e6);
  EXPECT_EQ(seen, "losslossgrad_normloss");
  EXPECT_EQ(step(13).outcome, StepOutcome::kUnknown);
}

TEST_F(RecordedTraining, AnotherThreadReadsWhileOneTrains) {
  std::atomic<bool> is_done{false};
  int64_t read = 0;
  std::thread reader([&] {
    for (int64_t last = 0; !is_done || read == 0; ++read) {
      const RunSummary summary = statistics_->history().summary();
      EXPECT_GE(summary.steps, last);
      last = summary.steps;
      const auto record = statistics_->history().step(last);
      EXPECT_TRUE(last == 0 || (record && record->step == last) || statistics_->history().steps() > last);
    }
  });
  for (int i = 0; i < 200; ++i) train(1);
  is_done = true;
  reader.join();
  EXPECT_EQ(statistics_->history().steps(), 200);
  EXPECT_GT(read, 0);
}

TEST_F(StatisticsTest, S21_AFileThatCannotBeWrittenIsReportedOnceAndLosesNoStep) {
  static bool is_full;
  is_full = false;
  ContextOptions options = options_with_clock();
  options.io.write = [](void*, int64_t file, uint64_t offset, const void* data, size_t size) -> int64_t {
    const Io& system = system_io();
    return is_full ? -ENOSPC : system.write(system.user, file, offset, data, size);
  };
  const auto context = make_ref<Context>(options);
  const auto statistics = make_ref<Statistics>(context->device("cpu"), settings());
  statistics->write_to(path_);
  take_step(*statistics, 1);
  for (int outage = 0; outage < 2; ++outage) {
    is_full = true;
    try {
      take_step(*statistics, 1);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kIo);
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
    }
    take_step(*statistics, 1);
    EXPECT_EQ(code_of([&] { statistics->flush(); }), Code::kIo);
    is_full = false;
    take_step(*statistics, 1);
  }
  EXPECT_EQ(statistics->history().steps(), 7);
  EXPECT_EQ(kinds(), "run step step step step step step step");
}

}  // namespace
}  // namespace halftone::analysis
