// Watches a model while it trains: statistics of its activations, gradients and weights in one step of many. It changes
// no result, and no step waits for the device: the statistics of a step are read once they have arrived. Used by the
// thread that trains.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "analysis/monitor/activations.h"
#include "analysis/monitor/monitor_settings.h"
#include "analysis/monitor/observer_hook.h"
#include "analysis/monitor/updates.h"
#include "analysis/statistics/step_watcher.h"
#include "optim/update_watcher.h"

namespace halftone::analysis {

// An error inside a step, such as that of an allocation, drops the sample and not the step; end_step throws it.
class Monitor final : public StepWatcher, private Observer, private optim::UpdateWatcher {
 public:
  // Without an optimizer, activations alone. Throws UNSUPPORTED if the settings ask for weights that are offloaded.
  Monitor(ContextDevice& device, Ref<const nn::Module> module, Ref<optim::Optimizer> optimizer,
          const MonitorSettings& settings);
  ~Monitor() override;

  void begin_step(int64_t step) override;
  // Throws STATE on another thread than that of begin_step, and drops the step.
  void end_step() override;
  void drop_step() noexcept override;
  std::vector<TensorSample> take(bool waits) override;

 private:
  using OwnedSample = std::unique_ptr<Sample>;

  void saw(const Recorded& recorded) override;
  void before_update(const std::vector<size_t>& numbers) noexcept override;
  void after_update(const std::vector<size_t>& numbers) noexcept override;

  bool watches_updates() const noexcept { return optimizer_ && (settings_.parameters || settings_.gradients); }
  void require_weights() const;
  void begin_sample(int64_t step);
  // Adds to samples. An error is kept for end_step.
  template <class Function>
  void add(const Function& function) noexcept;
  void stop_watching() noexcept;
  void keep_ended(bool has_gradients);
  void send(OwnedSample sample);
  OwnedSample free_sample();

  ContextDevice& device_;
  const Ref<const nn::Module> module_;
  const Ref<optim::Optimizer> optimizer_;
  const MonitorSettings settings_;
  Activations activations_;
  std::unique_ptr<Updates> updates_;  // null unless watches_updates()

  OwnedSample current_;   // of the step under way; null if the step is not sampled
  OwnedSample awaiting_;  // of the step before, which awaits the gradients of the next one
  std::deque<OwnedSample> sent_;
  std::vector<OwnedSample> free_;

  // These belong to the step under way.
  bool is_in_step_ = false;
  std::thread::id thread_;
  ObserverHook* hook_ = nullptr;  // null unless it is installed
  bool saw_update_ = false;       // further updates of the step are left out
  bool is_in_update_ = false;
  std::exception_ptr failure_;
};

}  // namespace halftone::analysis
