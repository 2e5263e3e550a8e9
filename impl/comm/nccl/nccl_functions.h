// The functions of NCCL, from a library that is opened when the first group needs it, so that the plugin loads without
// it. Safe from any thread.
#pragma once

#include <nccl.h>

#include "core/status.h"

namespace halftone::nccl {

struct NcclFunctions {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommFinalize) finalize = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommGetAsyncError) get_async_error = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
};

// Opens libnccl.so.2, or the file that the variable HALFTONE_NCCL_LIBRARY names. Returns UNSUPPORTED if it cannot be
// opened, or is older than 2.20; the next call tries again.
Status open_nccl(const NcclFunctions** out) noexcept;

}  // namespace halftone::nccl
