// One operation as a rank calls it, with the checks that every group makes before it starts one. Used by the groups on
// the caller's thread and on their own. Pure functions.
#pragma once

#include <cstdint>

#include "comm/process_group.h"

namespace halftone {

enum class Operation : int32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kBarrier,
  kSend,     // of `in`, which is `out` as well
  kReceive,  // into `out`, which is `in` as well
};

struct Request {
  Operation operation = Operation::kBarrier;
  ReduceOp reduce_op = ReduceOp::kSum;  // read by kAllReduce and kReduceScatter
  int32_t peer = 0;                     // the root of kBroadcast, the other rank of kSend and kReceive
  View in = {};                         // kBarrier has no operands
  View out = {};
  uint64_t hash = 0;

  // Elements that one rank contributes, or receives from a reduction.
  int64_t count() const { return operation == Operation::kReduceScatter ? out.numel() : in.numel(); }
};

// Two ranks take part in these, all ranks in the others.
inline bool has_two_ranks(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kReceive;
}

// A range of elements.
struct Part {
  int64_t begin;
  int64_t count;
};

// Part `index` of `count` elements in `parts` parts whose sizes differ by at most one.
inline Part part_of(int64_t count, int64_t parts, int64_t index) {
  const int64_t quotient = count / parts;
  const int64_t rest = count % parts;
  return {.begin = quotient * index + (index < rest ? index : rest), .count = quotient + (index < rest ? 1 : 0)};
}

inline std::byte* address_of(const View& view, int64_t element) {
  return static_cast<std::byte*>(view.data) + element * static_cast<int64_t>(size_of(view.dtype));
}

// The bytes of operands that a rank sends, if parts go from each rank to the next.
int64_t bytes_sent_by_rings(const Request& request, int32_t rank, int32_t size) noexcept;

// Returns INVALID_ARGUMENT, DTYPE_MISMATCH or SHAPE_MISMATCH for operands that the operation does not take.
Status check_request(const Request& request, int32_t rank, int32_t size) noexcept;

}  // namespace halftone
