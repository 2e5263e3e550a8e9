// One call of a process group's operation: what the rank asks for, and the memory that it reads and writes. Plain
// types, because a plugin may implement the groups.
#pragma once

#include <cstdint>

#include "backend/view.h"

namespace halftone {

enum class Operation : int32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kBarrier,
  kSend,  // one message: a request has these two in its transfers alone
  kReceive,
  kMessages,  // a batch of messages between pairs of ranks
};

// Floats are added in FP32 (f64: in double) in one binary tree over the rank numbers, and rounded once; kAverage
// divides the sum by the number of ranks before it is rounded. Results are bitwise equal on all ranks and in all runs.
// Integers are added modulo 2^bits. kAverage accepts floats alone, and kSum no bool. A NaN wins in kMin and kMax.
//
// Groups of the kind "nccl" keep this promise in operations that ask for it (CallOptions::is_deterministic). In the
// others they leave sums and averages of floats to NCCL, which adds in an order of its own and may round in between:
// the results are equal on all ranks, but may differ between runs.
enum class ReduceOp : int32_t { kSum, kAverage, kMin, kMax };

// One message of a batch.
struct Transfer {
  Operation direction = Operation::kSend;  // or kReceive
  int32_t peer = 0;                        // the other rank
  View data = {};                          // read by kSend, written by kReceive
};

struct Request {
  Operation operation = Operation::kBarrier;
  ReduceOp reduce_op = ReduceOp::kSum;  // read by kAllReduce and kReduceScatter
  int32_t peer = 0;                     // the root of kBroadcast
  View in = {};                         // kBarrier and kMessages have neither
  View out = {};
  const Transfer* transfers = nullptr;  // of kMessages; start() copies them
  int32_t transfer_count = 0;

  // Elements that one rank contributes, or receives from a reduction.
  int64_t count() const { return operation == Operation::kReduceScatter ? out.numel() : in.numel(); }
};

}  // namespace halftone
