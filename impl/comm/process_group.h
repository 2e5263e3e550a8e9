// Ranks that communicate: each holds a ProcessGroup and calls its operations in the same order. A pure interface of
// plain types, because a plugin may implement it (NCCL, Gloo). One thread at a time calls a group's operations; abort()
// and the handles of operations are safe from any thread.
#pragma once

#include <cstdint>

#include "backend/view.h"
#include "comm/work.h"

namespace halftone {

class KeyValueStore;

// Floats are added in FP32 (f64: in double) in one binary tree over the rank numbers, and rounded once; kAverage
// divides the sum by the number of ranks before it is rounded. Results are bitwise equal on all ranks and in all runs.
// Integers are added modulo 2^bits. kAverage takes floats alone, and kSum no bool. A NaN wins in kMin and kMax.
enum class ReduceOp : int32_t { kSum, kAverage, kMin, kMax };

inline constexpr int64_t kDefaultGroupTimeoutNs = 60'000'000'000;
inline constexpr int32_t kMaxGroupSize = 4096;

// Must be equal on all ranks, but for `device` and `rank`.
struct GroupOptions {
  Device* device = nullptr;        // its memory holds the operands; outlives the group
  KeyValueStore* store = nullptr;  // outlives the group
  const char* name = "world";      // tells the groups of one store apart; read during creation alone
  int32_t rank = 0;
  int32_t size = 1;
  int64_t timeout_ns = kDefaultGroupTimeoutNs;  // of each operation
};

// Settings of one operation.
struct CallOptions {
  // The operation reads and writes after the work that this stream has queued so far; null if nothing is queued.
  Stream* stream = nullptr;
  // Compared among the ranks, such as a hash of the parameters' order.
  uint64_t hash = 0;
};

// Every operation returns at once with a handle in `out_work`, which is null on failure. Views are contiguous; their
// memory must stay valid, and nobody may write it, until the operation is done. `in` and `out` may be the same
// elements, and must not overlap otherwise. Errors that a handle returns:
//   COMM       ranks called different operations, counts, dtypes or hashes; the message names both ranks and calls
//   PEER_LOST  a rank was destroyed or aborted
//   TIMEOUT    a rank did not take part in time; the message names it
//   CANCELLED  this rank's group was destroyed first
// After a failure every later operation of the group, on every rank, returns that failure.
class ProcessGroup {
 public:
  // Ends the operations that are not done with CANCELLED, and makes the other ranks' operations that need this rank
  // return PEER_LOST. Comes after every other call.
  virtual void destroy() noexcept = 0;
  // "threads"; lives as long as the group.
  virtual const char* kind() const noexcept = 0;
  virtual int32_t rank() const noexcept = 0;
  virtual int32_t size() const noexcept = 0;

  // The reduction of all ranks' `in`, on every rank.
  virtual Status all_reduce(const CallOptions& options, ReduceOp op, const View& in, const View& out,
                            Work** out_work) noexcept = 0;
  // All ranks' `in`, one after another: out has size() * in.numel() elements. In place, `in` is this rank's part of
  // `out`.
  virtual Status all_gather(const CallOptions& options, const View& in, const View& out, Work** out_work) noexcept = 0;
  // Part rank() of the reduction: in has size() * out.numel() elements. In place, `out` is this rank's part of `in`.
  virtual Status reduce_scatter(const CallOptions& options, ReduceOp op, const View& in, const View& out,
                                Work** out_work) noexcept = 0;
  // Replaces `data` by that of rank `root`.
  virtual Status broadcast(const CallOptions& options, int32_t root, const View& data, Work** out_work) noexcept = 0;
  // Part r of `out` becomes part rank() of rank r's `in`. Both have the same number of elements, which size() divides,
  // and must not overlap.
  virtual Status all_to_all(const CallOptions& options, const View& in, const View& out, Work** out_work) noexcept = 0;
  // Done when every rank has called it.
  virtual Status barrier(const CallOptions& options, Work** out_work) noexcept = 0;

  // Makes every operation that this rank has not finished return PEER_LOST, on every rank, with this rank and the
  // reason.
  virtual void abort(const char* reason) noexcept = 0;

 protected:
  ~ProcessGroup() = default;
};

}  // namespace halftone
