// Control messages between the ranks of one model, which are exchanged at once, and the options of all their
// operations. Each operation carries a hash of the model, the step and the purpose, so that ranks which are at
// different places get an error instead of each other's data. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "parallel/mesh/mesh.h"
#include "tensor/tensor.h"

namespace halftone::parallel {

class StartedWork;  // mesh/started_work.h

// The part of a hash that names the reason of a message.
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
  kScales,
  kGradientCheck
};

class Exchange {
 public:
  Exchange(Mesh mesh, ContextDevice& device) : mesh_(std::move(mesh)), device_(device) {}

  ContextDevice& device() const noexcept { return device_; }
  bool has(Axis axis) const noexcept { return mesh_.find(axis) != nullptr; }
  // REQUIRES: has(axis)
  ProcessGroup& group(Axis axis = Axis::kData) const noexcept { return *mesh_.find(axis); }
  int32_t rank(Axis axis = Axis::kData) const noexcept { return mesh_.rank(axis); }
  int32_t size(Axis axis = Axis::kData) const noexcept { return mesh_.size(axis); }
  // This rank among all that hold the model, in the order of gather().
  int32_t model_rank() const noexcept;
  int32_t model_size() const noexcept;

  // Belongs to every hash from now on.
  void set_model(uint64_t hash) noexcept { model_ = hash; }
  // Sums are those of one tree from now on, also where the group would be faster otherwise.
  void set_deterministic() noexcept { is_deterministic_ = true; }
  CallOptions options(Purpose purpose, uint64_t step = 0, uint64_t part = 0) const noexcept;

  // The numbers of every rank of the group in turn, f32, on the device. Waits for nothing.
  Tensor start_states(std::span<const float> own, const CallOptions& options) const;
  // These three wait. All ranks that hold the model call them, and pass as many values.
  // Returns the values of all ranks: those of rank 0 first, those of the first group before those of the next.
  std::vector<int64_t> gather(std::span<const int64_t> own, const CallOptions& options) const;
  void all_reduce(const Tensor& tensor, ReduceOp op, const CallOptions& options) const;
  void broadcast_from_first(const Tensor& tensor, const CallOptions& options) const;

  // REQUIRES: has(axis)
  StartedWork start_broadcast(const Tensor& tensor, int32_t root, const CallOptions& options,
                              Axis axis = Axis::kData) const;
  StartedWork start_all_reduce(const Tensor& tensor, ReduceOp op, const CallOptions& options,
                               Axis axis = Axis::kData) const;
  // `own` is this rank's part of `all`.
  StartedWork start_all_gather(const Tensor& own, const Tensor& all, const CallOptions& options,
                               Axis axis = Axis::kData) const;
  StartedWork start_reduce_scatter(const Tensor& all, const Tensor& own, ReduceOp op, const CallOptions& options) const;
  // Part r of `received` becomes part rank() of rank r's `sent`.
  StartedWork start_all_to_all(const Tensor& sent, const Tensor& received, const CallOptions& options) const;

 private:
  const Mesh mesh_;
  ContextDevice& device_;
  uint64_t model_ = 0;
  bool is_deterministic_ = false;
};

// Joins a number, or the characters of a text, to a hash (the finalizer of MurmurHash3).
constexpr uint64_t mixed(uint64_t hash, uint64_t number) noexcept {
  uint64_t value = hash ^ (number + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2));
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdu;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53u;
  return value ^ (value >> 33);
}
constexpr uint64_t mixed(uint64_t hash, std::string_view text) noexcept {
  for (const char character : text) hash = mixed(hash, static_cast<unsigned char>(character));
  return hash;
}

}  // namespace halftone::parallel
