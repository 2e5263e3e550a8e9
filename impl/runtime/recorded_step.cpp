#include "runtime/recorded_step.h"

#include <cstddef>

#include "core/call_log.h"
#include "core/error.h"
#include "runtime/memory/memory_pool.h"

namespace halftone {

RecordedStep::RecordedStep(ContextDevice& device, const std::function<void()>& function)
    : device_(device), context_(Ref<Context>::share(device.context)) {
  if (current() != nullptr) fail(Code::kState, "", "a graph is captured already; a capture inside it is not possible");
  memory_ = device.allocator->allocate(sizeof(Words), Category::kWorkspace);
  try {
    record(function);
    run();
  } catch (...) {
    abandon();
    throw;
  }
}

RecordedStep::~RecordedStep() { free_work(); }

void RecordedStep::free_work() noexcept {
  states_.clear();
  if (work_ != nullptr) work_->destroy();
  if (pool_ != nullptr) device_.allocator->release_pool(pool_);
  device_.allocator->release(memory_);
}

bool RecordedStep::owns(const Allocation& allocation) const noexcept {
  return allocation.is_recorded != 0 && pool_ != nullptr && allocation.recordings == pool_->number;
}

void RecordedStep::abandon() noexcept {
  for (const Registered& entry : states_) entry.state->abandon();
  context_->return_sequences(first_sequence_, sequences_);
  free_work();
}

void RecordedStep::record(const std::function<void()>& function) {
  Device& device = *device_.device;
  pool_ = device_.allocator->begin_recording();
  first_sequence_ = context_->sequences_taken();
  const Status begun = device.begin_recording(device.stream());
  if (!begun.ok()) {
    device_.allocator->end_recording();
    fail(begun);
  }
  try {
    call(function);
  } catch (...) {
    (void)device.end_recording(device.stream(), nullptr);
    device_.allocator->end_recording();
    throw;
  }
  const Status ended = device.end_recording(device.stream(), &work_);
  device_.allocator->end_recording();
  check(ended);
}

// The calls inside the function are complete when they return: their log is their own.
void RecordedStep::call(const std::function<void()>& function) {
  const auto* key = static_cast<const ReplayedKey*>(memory_.data);
  const RecordedKeys keys(*context_, key);
  const CallLog::Suspension own_logs;
  const ThreadGuard<&Thread::recorded_step> current(this);
  struct Sequences {
    RecordedStep& step;
    ~Sequences() { step.sequences_ = step.context_->sequences_taken() - step.first_sequence_; }
  } const sequences{*this};
  function();
  if (lost_state_) fail(Code::kOutOfMemory, "", "out of memory for the state of a graph");
  for (const Registered& entry : states_) entry.state->end_recording();
}

void RecordedStep::run() {
  for (const Registered& entry : states_) entry.state->prepare();
  words_.key.seed = context_->seed();
  Device& device = *device_.device;
  check(device.copy_from_host(device.stream(), memory_.data, &words_, sizeof words_));
  check(work_->run(device.stream()));
}

void RecordedStep::replay() {
  if (current() != nullptr) fail(Code::kState, "", "a graph is captured; replay after the capture");
  for (const Registered& entry : states_) entry.state->check();
  words_.key.advance = context_->take_sequences(sequences_) - first_sequence_;
  run();
  for (const Registered& entry : states_) entry.state->replayed();
  for (const Registered& entry : states_) entry.state->settle();
}

ReplayedState* RecordedStep::state_of(const void* object) const noexcept {
  for (const Registered& entry : states_) {
    if (entry.object == object) return entry.state.get();
  }
  return nullptr;
}

int RecordedStep::add_number() {
  if (numbers_ == kMostNumbers) {
    fail(Code::kUnsupported, "", "a graph takes at most %d numbers of schedules", kMostNumbers);
  }
  return numbers_++;
}

const double* RecordedStep::number_on_device(int index) const noexcept {
  return reinterpret_cast<const double*>(static_cast<const std::byte*>(memory_.data) + offsetof(Words, numbers)) +
         index;
}

}  // namespace halftone
