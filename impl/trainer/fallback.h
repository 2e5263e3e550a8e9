// Raises modules that keep overflowing to a higher precision: recipes of few bits to wider ones and to BF16, FP16 to
// FP32. A module is raised when it has caused so many overflows, with less than kForgottenAfter steps without one
// between them: a gradient scaler that probes a larger scale now and then raises none. One thread at a time.
#pragma once

#include <optional>

#include "ops/dispatch/autocast.h"
#include "trainer/overflow_finder.h"

namespace halftone::trainer {

// A precision of a module. The first one of a run is that of all modules.
struct Level {
  const char* name;
  Ref<const Recipe> recipe;  // null: none
  bool is_f32 = false;       // products in FP32 in place of the policy's dtype
};

class Fallback {
 public:
  static constexpr int64_t kForgottenAfter = 100;

  struct Raise {
    std::string module;
    const char* from;
    const char* to;
  };

  // REQUIRES: after >= 1, and at least one level.
  Fallback(nn::Module& model, const Ref<AutocastPolicy>& policy, std::vector<Level> levels, int64_t after);

  void begin_step();
  // Returns the module that was raised, if one was. Waits for the device if the step was skipped.
  std::optional<Raise> end_step(bool skipped, bool loss_is_finite, const Group* group);

  // For a checkpoint: as many numbers for each model.
  std::vector<double> numbers() const;
  // Raises the modules that were raised.
  void set_numbers(const std::vector<double>& numbers);

 private:
  std::optional<Raise> count(int64_t leaf);
  void apply(size_t leaf);

  OverflowFinder finder_;
  const Ref<AutocastPolicy> policy_;
  Ref<AutocastPolicy> policy_in_f32_;
  const std::vector<Level> levels_;
  const int64_t after_;
  int64_t steps_without_;           // since the last overflow
  std::vector<int64_t> overflows_;  // of each leaf
  std::vector<size_t> raised_;      // the level of each leaf
};

}  // namespace halftone::trainer
