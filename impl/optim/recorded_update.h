// The CPU's part of an optimizer's step that was recorded (runtime/recorded_step.h): the weights whose copies are
// current after it, the factor of a schedule that the CPU computes, and lists that changed while it was recorded.
#pragma once

#include <functional>
#include <vector>

#include "autograd/parameter.h"
#include "optim/schedule_rule.h"
#include "runtime/recorded_step.h"

namespace halftone::optim {

class RecordedUpdate final : public ReplayedState {
 public:
  // `position` returns the number of updates so far, and keeps the optimizer alive.
  RecordedUpdate(RecordedStep& step, std::function<int64_t()> position) : step_(step), position_(std::move(position)) {}

  // The rule with its factor in device memory. Throws STATE if the function steps twice: the position of the second
  // step depends on the first. REQUIRES: a schedule that the CPU computes.
  Schedule schedule(const ScheduleRule& rule);
  // A parameter that the step updates. Throws STATE for split weights that were written since their last update.
  void add(Parameter& parameter);
  // The optimizer has changed its lists in host memory. A recording transfers none, so `upload` brings them to the
  // device before the work runs first. If the recording fails before, `drop` is called instead.
  void upload_later(std::function<void()> upload, std::function<void()> drop);

  void check() const override;
  void prepare() override;
  void settle() noexcept override;
  void abandon() noexcept override;

 private:
  struct Updated {
    Ref<Parameter> parameter;
    const void* kept;  // addresses
    const void* compute;
    bool was_current;
  };

  RecordedStep& step_;
  std::function<int64_t()> position_;
  ScheduleRule rule_;
  int number_ = -1;  // of the factor; -1: none
  std::vector<Updated> updated_;
  std::function<void()> upload_;  // both null unless an upload is due
  std::function<void()> drop_;
};

}  // namespace halftone::optim
