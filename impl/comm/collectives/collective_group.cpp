#include "comm/collectives/collective_group.h"

#include <utility>

#include "comm/collectives/operands.h"
#include "comm/guarded.h"

namespace halftone {

CollectiveGroup::CollectiveGroup(const char* kind, std::unique_ptr<Transport> transport, const GroupOptions& options)
    : kind_(kind), transport_(std::move(transport)), collectives_(*transport_), thread_(collectives_, options) {}

// A closed group with operations under way is aborted, so that its thread does not wait for the other ranks.
void CollectiveGroup::destroy() noexcept {
  if (!owner_.is_here()) return;
  if (thread_.close()) {
    transport_->abort(
        Status::failure(Code::kPeerLost, "rank %d left the group before its operations were done", own_name()));
  }
  thread_.stop();
  transport_->leave();
  delete this;
}

void CollectiveGroup::abort(const char* reason) noexcept {
  fail(Status::failure(Code::kPeerLost, "rank %d aborted the group: %s", own_name(), reason));
}

void CollectiveGroup::fail(const Status& reason) noexcept {
  if (owner_.is_here()) transport_->abort(reason);
}

size_t CollectiveGroup::describe_operations(char* out, size_t capacity) const noexcept {
  if (owner_.is_here()) return thread_.recorder().describe(out, capacity);
  if (capacity > 0) out[0] = '\0';
  return 0;
}

Status CollectiveGroup::start(const CallOptions& options, const Request& request, Work** out_work) noexcept {
  *out_work = nullptr;
  if (!owner_.is_here()) {
    return Status::failure(Code::kState, "the group belongs to process %d, and this is a child of it", owner_.id());
  }
  if (Status status = check_request(request, rank(), size()); !status.ok()) return status;
  // The group's thread reads memory and knows no stream, so the operands must be complete. The CPU's are.
  if (options.stream != nullptr) {
    if (Status status = options.stream->synchronize(); !status.ok()) return status;
  }
  Status result;
  const Status thrown = guarded([&] {
    Ref<PendingWork> work = make_ref<PendingWork>(request, options.hash);
    result = thread_.submit(work);
    if (result.ok()) *out_work = work.detach();
  });
  return thrown.ok() ? result : thrown;
}

}  // namespace halftone
