#include "core/interrupt.h"

#include <mutex>
#include <utility>

#include "core/call_log.h"
#include "core/fork_hook.h"

namespace halftone {
namespace {

// Never destroyed: other threads may be in calls while the process exits.
struct InterruptSlot {
  ForkMutex mutex;
  Ref<Interrupter> interrupter;
};
InterruptSlot& interrupt_slot() {
  static InterruptSlot* const slot = new InterruptSlot;
  return *slot;
}

}  // namespace

void set_interrupt(InterruptFlag* flag, Ref<Interrupter> interrupter) {
  InterruptSlot& current = interrupt_slot();
  std::unique_lock lock(current.mutex);
  std::swap(current.interrupter, interrupter);
  interrupt_flag.store(flag, std::memory_order_release);
  lock.unlock();
  // The former one goes here, or when its last decision has ended.
}

// An interrupter may call the library: calls inside it are not ended. A call that ends may still compute, to let the
// other ranks know of its failure, so it is ended once.
Status ask_for_interruption() noexcept {
  CallLog* const log = thread().call_log;
  if (log == nullptr || log->is_ending() || thread().decides_interruption) return {};
  InterruptSlot& current = interrupt_slot();
  std::unique_lock lock(current.mutex);
  const Ref<Interrupter> interrupter = current.interrupter;
  lock.unlock();
  const ThreadGuard<&Thread::decides_interruption> deciding(true);
  const int32_t decision = interrupter ? interrupter->decide() : 1;
  if (decision == 0) return {};
  log->mark_ending();
  Status interrupted = Status::failure(Code::kCancelled, "the program has interrupted the call");
  if (interrupter) interrupted.native_code = decision;
  return interrupted;
}

}  // namespace halftone
