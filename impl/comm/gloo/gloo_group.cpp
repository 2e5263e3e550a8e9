#include "comm/gloo/gloo_group.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "comm/collectives/collective_group.h"
#include "comm/descriptors.h"
#include "comm/gloo/gloo_transport.h"
#include "comm/gloo/sigpipe_guard.h"
#include "core/error.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

constexpr int64_t kLongestTimeoutNs = int64_t{1} << 61;  // a later deadline could overflow the clock's type

Status check_gloo(const GroupOptions& options) {
  if (options.store == nullptr) {
    return Status::failure(Code::kInvalidArgument, "a group over a network needs a store, which all its ranks reach");
  }
  if (options.device->host_accessible()) return check_descriptors(options.size, 1);
  return Status::failure(Code::kUnsupported, "groups of the kind \"gloo\" need host memory, unlike that of %s",
                         options.device->name());
}

int64_t deadline_of(const GroupOptions& options) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() +
         std::min(options.timeout_ns, kLongestTimeoutNs);
}

Status make_group(const GroupOptions& options, ProcessGroup** out) {
  Roster roster(options, deadline_of(options));
  std::shared_ptr<Mesh> mesh;
  if (Status status = roster.meet(); !status.ok()) return status;
  if (Status status = connect_mesh(options, roster, &mesh); !status.ok()) {
    return roster.blame(status);
  }
  auto transport = std::make_unique<GlooTransport>(std::move(mesh), options);
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(roster.left_ns());
  if (Status status = transport->start(options, deadline); !status.ok()) {
    return roster.blame(status);
  }
  roster.finish();
  *out = new CollectiveGroup("gloo", std::move(transport), options);
  return {};
}

}  // namespace

Status create_gloo_group(const GroupOptions& options, ProcessGroup** out) noexcept {
  const CancellationGuard no_cancellation;
  const SigpipeGuard no_sigpipe;
  *out = nullptr;
  if (Status status = check_gloo(options); !status.ok()) return status;
  try {
    return make_group(options, out);
  } catch (const Error& error) {
    return Status::failure(error.code(), "%s", error.what());
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::kOutOfMemory, "no memory for a group of %d processes", options.size);
  }
}

}  // namespace halftone
