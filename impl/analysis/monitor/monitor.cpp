#include "analysis/monitor/monitor.h"

#include <utility>

#include "analysis/monitor/make_monitor.h"
#include "autograd/placement/state_memory.h"
#include "core/error.h"
#include "runtime/recorded_step.h"

namespace halftone::analysis {

Monitor::Monitor(ContextDevice& device, Ref<const nn::Module> module, Ref<optim::Optimizer> optimizer,
                 const MonitorSettings& settings)
    : device_(device),
      module_(std::move(module)),
      optimizer_(std::move(optimizer)),
      settings_(settings),
      activations_(*module_) {
  if (!watches_updates()) return;
  require_weights();
  updates_ = std::make_unique<Updates>(*module_, *optimizer_);
}

Monitor::~Monitor() { stop_watching(); }

void Monitor::require_weights() const {
  if (!settings_.parameters) return;
  for (const optim::OwnedParameter& owned : optimizer_->parameters()) {
    if (!owned.parameter().placement().state_memory()) continue;
    fail(Code::kUnsupported, "options", "options.parameters=1, but the weights of %s are offloaded", owned.name());
  }
}

void Monitor::begin_step(int64_t step) {
  drop_step();
  is_in_step_ = true;
  thread_ = std::this_thread::get_id();
  if ((step - 1) % settings_.interval == 0) begin_sample(step);
  if (updates_ && (current_ || awaiting_)) optimizer_->watch(this);
}

// Groups may have been added since the last sample.
void Monitor::begin_sample(int64_t step) {
  if (updates_) require_weights();
  OwnedSample sample = free_sample();
  sample->begin(step);
  if (settings_.activations) {
    activations_.begin();
    hook_ = ObserverHook::install(*this);
  }
  current_ = std::move(sample);
}

void Monitor::end_step() {
  if (!is_in_step_) return;
  stop_watching();
  if (thread_ != std::this_thread::get_id()) {
    drop_step();
    fail(Code::kState, "statistics", "statistics began the step on another thread");
  }
  if (failure_) {
    const std::exception_ptr failure = failure_;
    drop_step();
    std::rethrow_exception(failure);
  }
  is_in_step_ = false;
  keep_ended(std::exchange(saw_update_, false));
}

// The gradients of the step that awaited them are compared, or the step had none.
void Monitor::keep_ended(bool has_gradients) {
  if (awaiting_) send(std::move(awaiting_));
  if (!current_) return;
  if (settings_.noise && has_gradients) {
    awaiting_ = std::move(current_);
  } else {
    send(std::move(current_));
  }
}

// Memory that the device writes later stays allocated until then, as that of every tensor.
void Monitor::drop_step() noexcept {
  stop_watching();
  if (saw_update_ || failure_) {
    if (updates_) updates_->forget();
    awaiting_.reset();  // compared in part
  }
  current_.reset();
  is_in_step_ = saw_update_ = is_in_update_ = false;
  failure_ = nullptr;
}

void Monitor::stop_watching() noexcept {
  if (hook_ != nullptr) std::exchange(hook_, nullptr)->remove();
  if (optimizer_ && optimizer_->watcher() == this) optimizer_->watch(nullptr);
}

// A recorded step would repeat the work in later steps, for samples that are gone.
template <class Function>
void Monitor::add(const Function& function) noexcept {
  if (failure_ || RecordedStep::current() != nullptr) return;
  try {
    function();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void Monitor::saw(const Recorded& recorded) {
  add([&] { activations_.add(recorded, *current_); });
}

void Monitor::before_update(const std::vector<size_t>& numbers) noexcept {
  if (saw_update_) return;
  saw_update_ = is_in_update_ = true;
  add([&] {
    const Updates::Parts parts = {
        .gradients = settings_.gradients, .parameters = settings_.parameters, .keeps_gradients = settings_.noise};
    if (awaiting_) updates_->compare(numbers, *awaiting_);
    if (current_) updates_->before(numbers, parts, *current_);
  });
}

void Monitor::after_update(const std::vector<size_t>&) noexcept {
  if (!std::exchange(is_in_update_, false)) return;
  add([&] {
    if (awaiting_) awaiting_->add_next_state(optimizer_->device_state());
    if (!current_) return;
    current_->add_state(optimizer_->device_state());
    updates_->after(*current_);
  });
}

Monitor::OwnedSample Monitor::free_sample() {
  if (free_.empty()) return std::make_unique<Sample>(device_);
  OwnedSample sample = std::move(free_.back());
  free_.pop_back();
  return sample;
}

void Monitor::send(OwnedSample sample) {
  sample->send();
  sent_.push_back(std::move(sample));
}

std::vector<TensorSample> Monitor::take(bool waits) {
  if (waits && !is_in_step_ && awaiting_) {
    updates_->forget();
    send(std::move(awaiting_));
  }
  std::vector<TensorSample> taken;
  while (!sent_.empty()) {
    if (waits) sent_.front()->wait();
    if (!waits && !sent_.front()->has_arrived()) break;
    OwnedSample arrived = std::move(sent_.front());
    sent_.pop_front();
    taken.push_back(arrived->read());
    free_.push_back(std::move(arrived));
  }
  return taken;
}

Ref<StepWatcher> make_monitor(ContextDevice& device, const nn::Module& module, optim::Optimizer* optimizer,
                              const MonitorSettings& settings) {
  if (optimizer != nullptr && &optimizer->device() != &device) {
    fail(Code::kDevice, "optimizer", "optimizer is on another device than statistics");
  }
  return make_ref<Monitor>(device, Ref<const nn::Module>::share(&module), Ref<optim::Optimizer>::share(optimizer),
                           settings);
}

}  // namespace halftone::analysis
