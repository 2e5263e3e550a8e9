#include "parallel/mesh/started_work.h"

#include "runtime/stream_scope.h"

namespace halftone::parallel {

// The memory of the operation goes with this object, so an operation that was left must end first.
StartedWork::~StartedWork() {
  if (work_) static_cast<void>(work_->wait());
}

void StartedWork::wait() {
  const OwnedWork work = std::move(work_);
  if (work) check(work->wait_on(current_stream(*device_)));
}

}  // namespace halftone::parallel
