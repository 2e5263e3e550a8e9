// The group whose ranks are threads of one process.
#include <new>

#include "comm/collectives/collective_group.h"
#include "comm/group/groups.h"
#include "comm/threads/lobby.h"
#include "comm/threads/threads_transport.h"
#include "core/error.h"

namespace halftone {
namespace {

// A hub has a channel for every two ranks.
constexpr int32_t kMaxThreadRanks = 256;

Status check_threads(const GroupOptions& options) {
  if (options.store == nullptr) {
    return Status::failure(Code::kInvalidArgument, "a group of threads needs a store, which all its ranks share");
  }
  if (options.size > kMaxThreadRanks) {
    return Status::failure(Code::kInvalidArgument, "a group of threads has at most %d ranks, not %d", kMaxThreadRanks,
                           options.size);
  }
  if (!options.device->host_accessible()) {
    return Status::failure(Code::kUnsupported, "groups of the kind \"threads\" need host memory, unlike that of %s",
                           options.device->name());
  }
  return {};
}

ProcessGroup* make_group(const GroupOptions& options) {
  const Ref<Hub> hub = join_hub(options);
  try {
    return new CollectiveGroup("threads", std::make_unique<ThreadsTransport>(hub, options.rank, RankNames(options)),
                               options);
  } catch (...) {
    leave_hub(*hub, options.rank);
    throw;
  }
}

}  // namespace

Status create_threads_group(const GroupOptions& options, ProcessGroup** out) noexcept {
  *out = nullptr;
  if (Status status = check_threads(options); !status.ok()) return status;
  try {
    *out = make_group(options);
    return {};
  } catch (const Error& error) {
    return Status::failure(error.code(), "%s", error.what());
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::kOutOfMemory, "no memory for a group of %d threads", options.size);
  }
}

}  // namespace halftone
