#include "comm/nccl/nccl_functions.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <mutex>

namespace halftone::nccl {
namespace {

// The first in which the communicators do all that this folder uses without blocking.
constexpr int kOldestVersion = 22000;

template <class Function>
bool find(void* library, const char* name, Function& out) noexcept {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

bool find_all(void* library, NcclFunctions& out) noexcept {
  return find(library, "ncclGetVersion", out.get_version) && find(library, "ncclGetUniqueId", out.get_unique_id) &&
         find(library, "ncclCommInitRankConfig", out.init_rank) && find(library, "ncclCommFinalize", out.finalize) &&
         find(library, "ncclCommDestroy", out.destroy) && find(library, "ncclCommAbort", out.abort) &&
         find(library, "ncclCommGetAsyncError", out.get_async_error) &&
         find(library, "ncclGetErrorString", out.get_error_string) &&
         find(library, "ncclGetLastError", out.get_last_error) && find(library, "ncclGroupStart", out.group_start) &&
         find(library, "ncclGroupEnd", out.group_end) && find(library, "ncclAllReduce", out.all_reduce) &&
         find(library, "ncclAllGather", out.all_gather) && find(library, "ncclReduceScatter", out.reduce_scatter) &&
         find(library, "ncclBroadcast", out.broadcast) && find(library, "ncclSend", out.send) &&
         find(library, "ncclRecv", out.receive);
}

Status check_version(void* library, const char* name) noexcept {
  decltype(&ncclGetVersion) get_version = nullptr;
  int version = 0;
  if (!find(library, "ncclGetVersion", get_version) || get_version(&version) != ncclSuccess) {
    return Status::failure(Code::kUnsupported, "groups of the kind \"nccl\" need NCCL, and %.128s is another library",
                           name);
  }
  if (version >= kOldestVersion) return {};
  const bool has_small_numbers = version < 10000;  // up to NCCL 2.8
  return Status::failure(Code::kUnsupported, "%.128s is NCCL %d.%d, expected 2.20 or later", name,
                         version / (has_small_numbers ? 1000 : 10000),
                         version % (has_small_numbers ? 1000 : 10000) / 100);
}

Status open(NcclFunctions& out) noexcept {
  const char* chosen = secure_getenv("HALFTONE_NCCL_LIBRARY");
  const char* name = chosen != nullptr ? chosen : "libnccl.so.2";
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status::failure(Code::kUnsupported,
                           "groups of the kind \"nccl\" need NCCL 2.20 or later, which cannot be loaded: %.160s",
                           dlerror());
  }
  Status status = check_version(library, name);
  if (status.ok() && !find_all(library, out)) {
    status = Status::failure(Code::kUnsupported, "%.128s lacks functions of NCCL 2.20", name);
  }
  if (!status.ok()) dlclose(library);
  return status;
}

}  // namespace

Status open_nccl(const NcclFunctions** out) noexcept {
  static std::mutex mutex;  // guards the two below
  static bool is_open = false;
  static NcclFunctions functions;
  const std::lock_guard lock(mutex);
  if (!is_open) {
    if (Status status = open(functions); !status.ok()) return status;
    is_open = true;
  }
  *out = &functions;
  return {};
}

}  // namespace halftone::nccl
