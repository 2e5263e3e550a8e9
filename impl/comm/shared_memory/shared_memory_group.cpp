// The group whose ranks are processes of one machine.
#include "comm/collectives/collective_group.h"
#include "comm/descriptors.h"
#include "comm/group/groups.h"
#include "comm/guarded.h"
#include "comm/shared_memory/shared_memory_transport.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

// Every rank maps the memory of every other rank, and keeps two files open for each.
constexpr int32_t kMaxSharedRanks = 256;
constexpr int kFilesOfRank = 2;

void check_shared(const GroupOptions& options) {
  if (options.store == nullptr) {
    fail(Code::kInvalidArgument, "store", "a group over shared memory needs a store, which all its ranks share");
  }
  if (options.size > kMaxSharedRanks) {
    fail(Code::kInvalidArgument, "size", "a group over shared memory has at most %d ranks, not %d", kMaxSharedRanks,
         options.size);
  }
  check(check_descriptors(options.size, kFilesOfRank));
  if (!options.device->host_accessible()) {
    fail(Code::kUnsupported, "device", "groups of the kind \"shared_memory\" need host memory, unlike that of %s",
         options.device->name());
  }
}

}  // namespace

Status create_shared_memory_group(const GroupOptions& options, ProcessGroup** out) noexcept {
  *out = nullptr;
  const CancellationGuard no_cancellation;
  return guarded([&] {
    check_shared(options);
    try {
      *out = new CollectiveGroup("shared_memory", std::make_unique<SharedMemoryTransport>(options), options);
    } catch (const Error& error) {
      const bool is_limit = error.native_code() == EMFILE || error.native_code() == ENFILE;
      if (is_limit) check(too_few_descriptors(options.size, kFilesOfRank, "none is left"));
      throw;
    }
  });
}

}  // namespace halftone
