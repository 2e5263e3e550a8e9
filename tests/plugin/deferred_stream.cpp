#include "deferred_stream.h"

#include <new>
#include <utility>

namespace halftone::deferred {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

Status no_memory() { return Status::failure(Code::kOutOfMemory, "no memory to queue work"); }

}  // namespace

// Events may keep the queue longer than its stream. The lock is held when it is freed, because its destructor changes
// the list of queues.
void DeferredStream::destroy() noexcept {
  const Lock lock(machine_.mutex);
  queue_->run_until(queue_->length());
  delete this;
}

void DeferredEvent::destroy() noexcept {
  const Lock lock(machine_.mutex);
  delete this;
}

Status DeferredStream::synchronize() noexcept {
  const Lock lock(machine_.mutex);
  ++waits;
  if (runs_others_first) machine_.run_all();
  queue_->run_until(queue_->length());
  return machine_.take_fault();
}

Status DeferredStream::add(Work work) noexcept try {
  const Lock lock(machine_.mutex);
  queue_->add(std::move(work));
  return {};
} catch (const std::bad_alloc&) {
  return no_memory();
}

Status DeferredEvent::record(Stream& stream) noexcept {
  const Lock lock(machine_.mutex);
  queue_ = static_cast<DeferredStream&>(stream).queue();
  position_ = queue_->length();
  return {};
}

Status DeferredEvent::wait_on(Stream& stream) noexcept try {
  const Lock lock(machine_.mutex);
  const std::shared_ptr<Queue>& waiting = static_cast<DeferredStream&>(stream).queue();
  if (queue_ != nullptr && queue_ != waiting) waiting->add_wait(queue_, position_);
  return {};
} catch (const std::bad_alloc&) {
  return no_memory();
}

Status DeferredEvent::synchronize() noexcept {
  const Lock lock(machine_.mutex);
  ++waits;
  if (runs_others_first) machine_.run_all();
  if (queue_ != nullptr) queue_->run_until(position_);
  return machine_.take_fault();
}

Status DeferredEvent::is_reached(bool* out) noexcept {
  const Lock lock(machine_.mutex);
  if (queue_ != nullptr && !queue_->is_past(position_)) queue_->run_one();
  *out = queue_ == nullptr || queue_->is_past(position_);
  return {};
}

}  // namespace halftone::deferred
