#include "comm/shared_memory/segment_address.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "backend/plugin.h"
#include "core/error.h"
#include "core/io.h"

namespace halftone {
namespace {

template <size_t kCapacity>
bool equal(const char (&a)[kCapacity], const char (&b)[kCapacity]) {
  return std::strncmp(a, b, kCapacity) == 0;
}

// The number of this run of the system, and that of the namespace of processes.
template <size_t kCapacity>
void describe_machine(char (&out)[kCapacity]) {
  char run[40] = "";
  read_text(system_io(), "/proc/sys/kernel/random/boot_id", run, sizeof run);
  run[std::strcspn(run, "\n")] = '\0';
  struct stat status = {};
  stat("/proc/self/ns/pid", &status);
  std::snprintf(out, kCapacity, "%s %" PRIu64, run, static_cast<uint64_t>(status.st_ino));
}

}  // namespace

SegmentAddress address_of(const Segment& segment, int rank, int size) {
  SegmentAddress address = {};
  std::snprintf(address.build, sizeof address.build, "%s", build_id());
  describe_machine(address.machine);
  address.nonce = segment.control().nonce;
  address.process = getpid();
  address.file = segment.file().get();
  address.rank = rank;
  address.size = size;
  return address;
}

void check_reachable(const SegmentAddress& own, const SegmentAddress& other, const RankNames& names) {
  const int ranks[] = {names[own.rank], names[other.rank]};
  if (!equal(own.build, other.build)) {
    fail(Code::kComm, "", "rank %d runs the build \"%.100s\", rank %d the build \"%.100s\"", ranks[0], own.build,
         ranks[1], other.build);
  }
  if (own.size != other.size) {
    fail(Code::kComm, "size", "rank %d creates the group with %d ranks, rank %d with %d", ranks[0], own.size, ranks[1],
         other.size);
  }
  if (!equal(own.machine, other.machine)) {
    fail(Code::kUnsupported, "kind",
         "ranks %d and %d are on different machines or in different containers, and share no memory: use the kind "
         "\"gloo\"",
         ranks[0], ranks[1]);
  }
}

// The system lets processes of one user open each other's files by number.
Descriptor open_file(const SegmentAddress& address) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", address.process, address.file);
  Descriptor file(open(path, O_RDWR | O_CLOEXEC));
  if (file || errno == ENOENT || errno == ESRCH) return file;
  Status status = Status::failure(errno == EACCES || errno == EPERM ? Code::kUnsupported : Code::kIo,
                                  "cannot open the shared memory of rank %d, %s: error %d", address.rank, path, errno);
  status.native_code = errno;
  check(status);
  return file;
}

}  // namespace halftone
