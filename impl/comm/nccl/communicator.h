// One rank's communicator of NCCL with the stream that its operations run on. No call blocks in NCCL: where NCCL is
// under way (ncclInProgress), a call asks again until the caller's patience ends. Used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/collectives/operands.h"
#include "comm/nccl/nccl_functions.h"

namespace halftone::nccl {

// Returns the reason to wait no longer, or OK.
using Patience = std::function<Status()>;

struct Seat {
  int device;
  int32_t rank;
  int32_t size;
};

class Communicator {
 public:
  Communicator(const NcclFunctions& nccl, const Seat& seat);
  // REQUIRES: finish() or abort() has come, if join() has.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Connects the ranks: each calls it with the number that rank 0 has made.
  Status join(const ncclUniqueId& id, const Patience& patience);
  cudaStream_t stream() const noexcept { return stream_; }

  // Queues an operation. `is_deterministic`: with sums in the tree of group/request.h. The messages of a batch pass
  // each other.
  Status queue(const Request& request, bool is_deterministic, const Patience& patience);
  // The failure of an operation that was queued.
  Status async_error() const noexcept;

  // Ends the operations under way, on the device as well. NCCL gets a few seconds for it.
  void abort() noexcept;
  // Leaves the other ranks in good order, or aborts where they do not leave within a second.
  void finish() noexcept;

 private:
  struct Piece {
    const void* from;  // to send; null: nothing
    void* to;          // to receive into; null: nothing
    int64_t send_bytes;
    int64_t receive_bytes;
  };

  Status status_of(ncclResult_t result, const char* call) const noexcept;
  Status settle(ncclResult_t result, const char* call, const Patience& patience) const;
  template <class Calls>
  Status in_group(Calls&& calls, const Patience& patience);
  // piece_of(rank) tells what this rank exchanges with another.
  Status swap(const std::function<Piece(int32_t)>& piece_of, const Patience& patience);
  Status copy(const void* from, void* to, int64_t bytes) noexcept;
  Status reserve_scratch(int64_t bytes);

  Status queue_reduction(const Request& request, const Patience& patience);
  Status queue_messages(std::span<const Transfer> transfers, const Patience& patience);
  Status all_to_all(const Request& request, const Patience& patience);
  Status barrier(const Patience& patience);
  Status all_reduce_in_tree(const Request& request, const Patience& patience);
  Status all_reduce_range(const Request& request, const Part& range, const Patience& patience);
  Status reduce_scatter_in_tree(const Request& request, const Patience& patience);
  Status reduce_scatter_range(const Request& request, const Part& range, const Patience& patience);

  const NcclFunctions& nccl_;
  const Seat seat_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::vector<void*> memory_;  // of which the last is the scratch memory
  std::byte* scratch_ = nullptr;
  int64_t scratch_bytes_ = 0;
  bool is_stuck_ = false;  // NCCL did not end: its memory stays
};

}  // namespace halftone::nccl
