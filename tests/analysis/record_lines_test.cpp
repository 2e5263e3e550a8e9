#include "analysis/statistics/record_lines.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace halftone::analysis {
namespace {

StepRecord full_step() {
  StepRecord record;
  record.step = 12;
  record.loss = 2.5;
  record.lr = 0.001;
  record.loss_scale = 65536;
  record.outcome = StepOutcome::kSkipped;
  record.overflow = "0.weight";
  record.grad_norm = std::numeric_limits<double>::infinity();
  record.items = 256;
  record.seconds = 0.25;
  record.part_seconds[static_cast<size_t>(StepPart::kForward)] = 0.125;
  record.part_seconds[static_cast<size_t>(StepPart::kOther)] = 0.125;
  for (int i = 0; i < kCategoryCount; ++i) record.memory[i] = 10 + i;
  record.peak_memory = 4096;
  return record;
}

TEST(RecordLines, AStepHasItsKeysInOrder) {
  EXPECT_EQ(line_of(full_step()),
            R"({"step":12,"record":"step","loss":2.5,"lr":0.001,"loss_scale":65536,"outcome":"skipped",)"
            R"("overflow":"0.weight","grad_norm":null,"items":256,"items_per_second":1024,"seconds":0.25,)"
            R"("parts":{"data":0,"forward":0.125,"backward":0,"optimizer":0,"other":0.125},)"
            R"("memory":{"parameters":11,"gradients":12,"optimizer":13,"activations":14,"communication":15,)"
            R"("workspace":16,"other":10,"peak":4096}})");
}

TEST(RecordLines, AStepWithoutAnOptimizerLeavesItsKeysOut) {
  StepRecord record;
  record.step = 1;
  record.loss = NAN;
  const nlohmann::json line = nlohmann::json::parse(line_of(record));
  EXPECT_TRUE(line["loss"].is_null());
  for (const char* key : {"lr", "loss_scale", "outcome", "overflow", "grad_norm"}) EXPECT_FALSE(line.contains(key));
  EXPECT_EQ(line["items_per_second"], 0);
}

TEST(RecordLines, NumbersReadBackExactly) {
  for (double loss : {0.1, 1.0 / 3, 1e300, 5e-324, static_cast<double>(0.1f), static_cast<double>(1.0f / 3)}) {
    StepRecord record = full_step();
    record.loss = loss;
    record.lr = loss;
    const nlohmann::json line = nlohmann::json::parse(line_of(record));
    EXPECT_EQ(line["lr"].get<double>(), loss);
    const auto read = line["loss"].get<double>();
    EXPECT_TRUE(read == loss || static_cast<double>(static_cast<float>(read)) == loss) << loss;
  }
  StepRecord record = full_step();
  record.loss = 0.1f;
  EXPECT_NE(line_of(record).find(R"("loss":0.1,)"), std::string::npos);
}

TEST(RecordLines, ARunBeginsWithItsVersion) {
  const std::string line = line_of(RunStart{.step = 7, .label = "a \"run\"", .device = "cpu", .threads = 2});
  EXPECT_EQ(line, R"({"step":7,"record":"run","version":1,"library":"0.1.0","label":"a \"run\"","device":"cpu",)"
                  R"("threads":2})");
  EXPECT_EQ(line_of(RunStart{.step = 0, .label = "", .device = "cpu", .threads = 1}).find("label"), std::string::npos);
}

TensorRecord small_tensor(TensorKind kind) {
  TensorRecord record;
  record.kind = kind;
  record.name = "0.weight";
  record.op = "linear";
  record.dtype = DType::kF16;
  record.elements = 10;
  record.summary.extremes.add(magnitude_of(0.0f));
  record.summary.extremes.add(magnitude_of(0.5f));
  record.summary.extremes.add(magnitude_of(-std::numeric_limits<float>::infinity()));
  record.summary.exponents[126] = 1;
  record.summary.exponents[128] = 2;
  record.norm = 1.5;
  record.scale = 1024;
  return record;
}

TEST(RecordLines, ATensorHasCountsWithoutTheZerosAtBothEnds) {
  EXPECT_EQ(line_of(100, small_tensor(TensorKind::kActivation)),
            R"({"step":100,"record":"tensor","kind":"activation","name":"0.weight","op":"linear","dtype":"f16",)"
            R"("elements":10,"zeros":1,"infinities":1,"nans":0,"largest":0.5,"least":0.5,"norm":1.5,)"
            R"("first":126,"counts":[1,0,2]})");
}

TEST(RecordLines, AGradientHasItsScaleAndNoise) {
  TensorRecord record = small_tensor(TensorKind::kGradient);
  record.noise = 12.5;
  const nlohmann::json line = nlohmann::json::parse(line_of(100, record));
  EXPECT_EQ(line["kind"], "gradient");
  EXPECT_EQ(line["scale"], 1024);
  EXPECT_EQ(line["noise"], 12.5);
  EXPECT_FALSE(line.contains("op"));
  EXPECT_FALSE(line.contains("lost"));
}

TEST(RecordLines, AParameterHasItsUpdate) {
  TensorRecord record = small_tensor(TensorKind::kParameter);
  record.update.emplace();
  record.update->norm = NAN;
  record.update->counts.lost = 5;
  record.update->counts.still = 3;
  record.update->counts.ratios[7] = 1;
  record.update->counts.ratios[9] = 4;
  const std::string line = line_of(100, record);
  const std::string end = R"("lost":5,"still":3,"update_norm":null,"ratio_first":7,"ratio_counts":[1,0,4]})";
  ASSERT_GT(line.size(), end.size());
  EXPECT_EQ(line.substr(line.size() - end.size()), end);
}

TEST(RecordLines, ATensorOfZerosHasNoCounts) {
  TensorRecord record;
  record.name = "w";
  record.elements = 2;
  record.summary.extremes.zeros = 2;
  const nlohmann::json line = nlohmann::json::parse(line_of(1, record));
  EXPECT_EQ(line["counts"].size(), 0u);
  EXPECT_EQ(line["first"], 0);
  EXPECT_TRUE(line["least"].is_null());
}

TEST(RecordLines, EventsHaveTheirFields) {
  const Spike spike = {.step = 3, .quantity = SpikeQuantity::kGradNorm, .value = 9, .mean = 2.5, .deviation = NAN};
  EXPECT_EQ(line_of(3, spike_event(spike)),
            R"({"step":3,"record":"event","event":"spike","quantity":"grad_norm","value":9,"mean":2.5,)"
            R"("deviation":null})");
  EXPECT_EQ(line_of(4, evaluation_event(0.1f)), R"({"step":4,"record":"event","event":"evaluation","loss":0.1})");
  EXPECT_EQ(line_of(5, fallback_event("layer 0", "mxfp8", "bf16")),
            R"({"step":5,"record":"event","event":"fallback","module":"layer 0","from":"mxfp8","to":"bf16"})");
  EXPECT_EQ(line_of(6, checkpoint_event()), R"({"step":6,"record":"event","event":"checkpoint"})");
}

TEST(RecordLines, ANameThatIsNoUtf8IsRefused) {
  TensorRecord record = small_tensor(TensorKind::kParameter);
  record.name = "\xff";
  EXPECT_THROW(line_of(1, record), Error);
}

}  // namespace
}  // namespace halftone::analysis
