#include "comm/nccl/nccl_functions.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <mutex>

#include "core/library_function.h"

namespace halftone::nccl {
namespace {

// The first in which the communicators do all that this folder uses without blocking.
constexpr int kOldestVersion = 22000;

bool find_all(void* library, NcclFunctions& out) noexcept {
  return find_function(library, "ncclGetVersion", out.get_version) &&
         find_function(library, "ncclGetUniqueId", out.get_unique_id) &&
         find_function(library, "ncclCommInitRankConfig", out.init_rank) &&
         find_function(library, "ncclCommFinalize", out.finalize) &&
         find_function(library, "ncclCommDestroy", out.destroy) && find_function(library, "ncclCommAbort", out.abort) &&
         find_function(library, "ncclCommGetAsyncError", out.get_async_error) &&
         find_function(library, "ncclGetErrorString", out.get_error_string) &&
         find_function(library, "ncclGetLastError", out.get_last_error) &&
         find_function(library, "ncclGroupStart", out.group_start) &&
         find_function(library, "ncclGroupEnd", out.group_end) &&
         find_function(library, "ncclAllReduce", out.all_reduce) &&
         find_function(library, "ncclAllGather", out.all_gather) &&
         find_function(library, "ncclReduceScatter", out.reduce_scatter) &&
         find_function(library, "ncclBroadcast", out.broadcast) && find_function(library, "ncclSend", out.send) &&
         find_function(library, "ncclRecv", out.receive);
}

Status check_version(void* library, const char* name) noexcept {
  decltype(&ncclGetVersion) get_version = nullptr;
  int version = 0;
  if (!find_function(library, "ncclGetVersion", get_version) || get_version(&version) != ncclSuccess) {
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
