// A process group over messages, for operands in host memory: checks them on the caller's thread, and runs the
// operations on a thread of its own. Used by the kinds of groups that have a transport. In a child of fork() every
// operation returns STATE, and destroy() keeps the memory: the others must not think that this rank has left.
#pragma once

#include <memory>

#include "comm/collectives/group_thread.h"
#include "core/owner_process.h"

namespace halftone {

class CollectiveGroup final : public ProcessGroup {
 public:
  // `kind` lives as long as the program. Throws OUT_OF_MEMORY.
  CollectiveGroup(const char* kind, std::unique_ptr<Transport> transport, const GroupOptions& options);

  void destroy() noexcept override;
  const char* kind() const noexcept override { return kind_; }
  int32_t rank() const noexcept override { return transport_->rank(); }
  int32_t size() const noexcept override { return transport_->size(); }

  Status start(const CallOptions& options, const Request& request, Work** out_work) noexcept override;
  void abort(const char* reason) noexcept override;
  void fail(const Status& reason) noexcept override;
  GroupCounters counters() const noexcept override { return collectives_.counters(); }
  Status link_cost(LinkCost* out) const noexcept override { return collectives_.link_cost(out); }
  size_t describe_operations(char* out, size_t capacity) const noexcept override;

 private:
  int own_name() const noexcept { return transport_->names()[rank()]; }

  const OwnerProcess owner_;
  const char* kind_;
  std::unique_ptr<Transport> transport_;
  Collectives collectives_;
  GroupThread thread_;
};

}  // namespace halftone
