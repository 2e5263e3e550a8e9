// The record of a run of training: what each step did and took, in memory and as JSON lines in a file. The C API and
// the trainer call it. One thread at a time trains; the functions of history() are safe from any thread.
//
// A step is: begin_step, begin_part for each part that is to be measured, end_step. Watchers of the model
// (step_watcher.h) are told of steps, and what they have found is added to the record.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/statistics/part_clock.h"
#include "analysis/statistics/recorded_optimizer.h"
#include "analysis/statistics/run_event.h"
#include "analysis/statistics/run_history.h"
#include "analysis/statistics/step_watcher.h"
#include "core/ref.h"

namespace halftone {

class Context;         // runtime/context.h
struct ContextDevice;  // runtime/context_device.h

}  // namespace halftone

namespace halftone::analysis {

class RecordFile;  // analysis/statistics/record_file.h

struct StatisticsSettings {
  size_t capacity = 10'000;       // steps in memory
  size_t spike_window = 100;      // at least SpikeDetector::kLeastWindow
  double spike_deviations = 6.0;  // 0: no detector
  std::string label;              // of the run, in its file; may be empty
};

class Statistics final : public RefCounted {
 public:
  // The memory of `device` is recorded. REQUIRES: capacity >= 1.
  Statistics(ContextDevice& device, const StatisticsSettings& settings);
  ~Statistics() override;

  // Steps from now on record the learning rate, the scale and the outcome. Null: no longer. Throws STATE in a step, and
  // DEVICE for an optimizer of another device than the record's. REQUIRES: no scaler without an optimizer.
  void set_optimizer(const Ref<optim::Optimizer>& optimizer, const Ref<optim::GradScaler>& scaler);
  // For callers that do not know the classes.
  void set_optimizer(const Ref<optim::Optimizer>& optimizer);
  void clear_optimizer();
  void add_watcher(const Ref<StepWatcher>& watcher);
  // Called at the end of end_step, after all is recorded; end_step throws what it throws. Empty: none.
  void set_spike_callback(std::function<void(const Spike&)> callback);

  // A run goes on after so many steps: forgets those in memory. Throws STATE in a step, and while a file is written.
  void set_step_count(int64_t steps);
  // Writes the record to a file from now on, in which the lines of an earlier part of this run stay: those of the steps
  // up to the step count, if that is not 0. Throws IO, FORMAT (the file there is no record); then the former file goes
  // on.
  void write_to(const std::string& path);
  // Waits for the watchers, and until all lines are on the disk. Throws IO.
  void flush();
  // Waits until the lines that were added are on the disk, and not for the watchers. Throws IO.
  void sync();

  // Throws STATE in a step, and the errors of the schedule and the watchers; then no step has begun.
  void begin_step();
  // Throws STATE outside of a step.
  void begin_part(StepPart part);
  // Throws STATE outside of a step. Throws IO the first time that lines cannot be written; they are tried again later.
  void end_step(double loss, int64_t items);
  // Drops a step that has begun. Does nothing outside of one.
  void cancel_step() noexcept;

  // Adds an event after the last step, or within the one that has begun. Throws IO as end_step does.
  void add_event(const RunEvent& event);

  bool is_in_step() const noexcept { return is_in_step_; }
  const RunHistory& history() const noexcept { return history_; }
  ContextDevice& device() const noexcept { return device_; }

 private:
  void begin_watchers(int64_t step);
  std::exception_ptr end_watchers() noexcept;
  void drop_watchers() noexcept;
  void require_no_step() const;
  void require_step() const;
  void see_memory();
  void finish_record(double loss, int64_t items);
  std::vector<Spike> add_record();
  std::vector<Spike> find_spikes();
  void take_tensors(bool waits);
  std::exception_ptr write_lines() noexcept;
  void report(const std::exception_ptr& failure);

  const Ref<Context> context_;
  ContextDevice& device_;
  const std::string label_;
  RunHistory history_;
  PartClock clock_;
  SpikeDetector loss_spikes_, norm_spikes_;
  RecordedOptimizer optimizer_;
  std::vector<Ref<StepWatcher>> watchers_;
  std::function<void(const Spike&)> spike_callback_;
  std::unique_ptr<RecordFile> file_;
  bool is_failure_reported_ = false;  // of the file, since it could be written last
  bool is_in_step_ = false;
  StepRecord current_;
  int64_t most_memory_ = 0;  // in use, that current_.memory shows
};

}  // namespace halftone::analysis
