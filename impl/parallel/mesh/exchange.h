// Control messages between the ranks of one model, which are exchanged at once, and the options of all their
// operations. Each operation carries a hash of the model, the step and the purpose, so that ranks which are at
// different places get an error instead of each other's data. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "comm/owned.h"
#include "core/error.h"
#include "runtime/stream_scope.h"
#include "tensor/tensor.h"

namespace halftone::parallel {

// An operation of a group with the memory that it uses. The destructor waits for it.
class StartedWork {
 public:
  // start(&work) returns a Status. Throws it.
  template <class Start>
  StartedWork(ContextDevice& device, std::vector<Tensor> memory, Start&& start)
      : device_(&device), memory_(std::move(memory)) {
    Work* started = nullptr;
    check(start(&started));
    work_ = OwnedWork(started);
  }
  StartedWork(StartedWork&&) = default;
  StartedWork& operator=(StartedWork&&) = delete;
  ~StartedWork() {
    if (work_) static_cast<void>(work_->wait());
  }

  // Work that this thread queues from now on runs after the operation. Throws the operation's error.
  void wait() {
    const OwnedWork work = std::move(work_);
    if (work) check(work->wait_on(current_stream(*device_)));
  }

 private:
  ContextDevice* device_;
  std::vector<Tensor> memory_;
  OwnedWork work_;
};

// The part of a hash that tells why ranks communicate.
enum class Purpose : uint64_t {
  kModel,
  kWeights,
  kBuffers,
  kBucket,
  kStates,
  kNames,
  kUsed,
  kOrder,
  kJoin,
  kStatistics,
  kCheck,
  kGather,
  kGradientCheck
};

class Exchange {
 public:
  // `replicas`: the ranks that have this rank's number in other groups like `group`, which hold the same model; null if
  // there is one group alone.
  Exchange(ProcessGroup& group, ContextDevice& device, ProcessGroup* replicas = nullptr)
      : group_(group), device_(device), replicas_(replicas) {}

  ProcessGroup& group() const noexcept { return group_; }
  ContextDevice& device() const noexcept { return device_; }
  int32_t rank() const noexcept { return group_.rank(); }
  int32_t size() const noexcept { return group_.size(); }
  int32_t replica_count() const noexcept { return replicas_ == nullptr ? 1 : replicas_->size(); }
  // This rank among all, also those of the replicas, in the order of gather().
  int32_t global_rank() const noexcept { return replicas_ == nullptr ? rank() : replicas_->rank() * size() + rank(); }
  int32_t global_size() const noexcept { return size() * replica_count(); }

  // Belongs to every hash from now on.
  void set_model(uint64_t hash) noexcept { model_ = hash; }
  // Sums are those of one tree from now on, also where the group would be faster otherwise.
  void set_deterministic() noexcept { is_deterministic_ = true; }
  CallOptions options(Purpose purpose, uint64_t step = 0, uint64_t part = 0) const noexcept;

  // The numbers of every rank of the group in turn, f32, on the device. Waits for nothing.
  Tensor start_states(std::span<const float> own, const CallOptions& options) const;
  // Waits for the values of all ranks, also of the replicas: those of rank 0 first, those of the first group before
  // those of the next. Every rank gives as many.
  std::vector<int64_t> gather(std::span<const int64_t> own, const CallOptions& options) const;
  StartedWork start_broadcast(const Tensor& tensor, int32_t root, const CallOptions& options) const;
  StartedWork start_all_reduce(const Tensor& tensor, ReduceOp op, const CallOptions& options) const;
  // `own` is this rank's part of `all`.
  StartedWork start_all_gather(const Tensor& own, const Tensor& all, const CallOptions& options) const;
  StartedWork start_reduce_scatter(const Tensor& all, const Tensor& own, ReduceOp op, const CallOptions& options) const;
  // Over the replicas. REQUIRES: there are some.
  StartedWork start_replicas_all_reduce(const Tensor& tensor, ReduceOp op, const CallOptions& options) const;
  // From rank 0 of the first group to all ranks. Waits.
  void broadcast_from_first(const Tensor& tensor, const CallOptions& options) const;

 private:
  std::vector<int64_t> gather_in(ProcessGroup& group, std::span<const int64_t> own, const CallOptions& options) const;

  ProcessGroup& group_;
  ContextDevice& device_;
  ProcessGroup* replicas_;
  uint64_t model_ = 0;
  bool is_deterministic_ = false;
};

// Joins a number to a hash (the finalizer of MurmurHash3).
constexpr uint64_t mixed(uint64_t hash, uint64_t number) noexcept {
  uint64_t value = hash ^ (number + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2));
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdu;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53u;
  return value ^ (value >> 33);
}

}  // namespace halftone::parallel
