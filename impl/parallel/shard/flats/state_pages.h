// The optimizer state of parameters that follow one another in a flat buffer, in pages that are on the device only
// while they are used: one page of master weights, and one for each moment. Used by FlatWeights and optimizers, by
// one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "autograd/parameter.h"
#include "autograd/placement/state_memory.h"
#include "offload/page.h"

namespace halftone::parallel {

class StatePages final : public StateMemory {
 public:
  StatePages(ContextDevice& device, Ref<offload::SwapSpace> space) : device_(device), space_(std::move(space)) {}

  // Makes room for the next parameter's shard, which begins at first_of(). Before anything else is made.
  void add(const Parameter& parameter, int64_t size);
  int64_t first_of(const Parameter& parameter) const { return first_.at(&parameter); }
  int64_t size() const noexcept { return size_; }

  // The masters of all shards, 1-D f32 zeros, which are fetched. Throws OUT_OF_MEMORY, IO.
  const Tensor& make_masters();
  // REQUIRES: they were made.
  const Tensor& masters() const noexcept { return masters_->tensor(); }
  // As the calls of StateMemory, for masters that are only read: dropping them writes nothing.
  void start_fetch_masters();
  void fetch_masters();
  void drop_masters() noexcept;
  // As Page's calls: copy the masters, in their order here, without bringing them.
  void start_copy_masters(const Tensor& target);
  void finish_copy_masters();

  Tensor zeros(const Parameter& parameter, const Part& part, DType dtype, int64_t size) override;
  void start_fetch() override;
  void fetch() override;
  void start_put_back() noexcept override;
  void finish_put_back() override;
  Ref<const StateStore> store_of(const Tensor& state) override;

  // Bytes of all pages.
  int64_t byte_count() const noexcept;

 private:
  class Store;
  struct PartPage {
    Part part;
    DType dtype;
    std::unique_ptr<offload::Page> page;
    std::unordered_set<const Parameter*> users;  // now or before
  };

  PartPage& page_of(const Part& part, DType dtype);

  ContextDevice& device_;
  const Ref<offload::SwapSpace> space_;
  std::unordered_map<const Parameter*, int64_t> first_;
  int64_t size_ = 0;
  std::unique_ptr<offload::Page> masters_;  // null if the masters stay on the device
  std::vector<PartPage> parts_;
};

}  // namespace halftone::parallel
