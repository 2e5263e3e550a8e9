// A parameter: FP32 (or whatever the model was made in) master weights, the low-precision copy that an optimizer keeps
// beside them, the gradient, and the range that this process updates. Its tensors may be ranges of flat buffers that
// many parameters share; each range then has a version of its own. An optimizer may split the weights: then a BF16
// tensor and a 16-bit remainder are the weights, and there is no master; or keep them in 16 bits alone. One thread at a
// time changes a parameter; meanwhile no other thread uses it. Several threads may read it.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "autograd/leaf/accumulate_grad.h"
#include "autograd/placement/master_memory.h"
#include "autograd/placement/shard.h"
#include "autograd/placement/shard_ranks.h"
#include "autograd/placement/state_memory.h"
#include "autograd/update_rule.h"
#include "autograd/weights/deferred_weights.h"
#include "autograd/weights/leaf_tensor.h"

namespace halftone {

class Parameter;

// The end of graphs at a parameter: the accumulator of its gradient, which all leaf tensors of the parameter share. A
// graph refers to it and not to the parameter, because the parameter keeps leaf tensors and would otherwise keep itself
// alive. If the parameter is gone, this is a plain leaf: a graph still delivers its gradient here.
class ParameterLeaf final : public AccumulateGrad {
 public:
  ParameterLeaf(std::string name, const Tensor& master);

  // The parameter's, also after the parameter is gone.
  const char* name() const noexcept override { return name_.c_str(); }
  const char* parameter_name() const noexcept override { return name_.c_str(); }
  ParameterLeaf* as_parameter_leaf() noexcept override { return this; }

  // Null if the parameter is gone. Any thread, even while another one releases the parameter.
  Ref<Parameter> parameter() const noexcept;

 private:
  friend class Parameter;
  ~ParameterLeaf() override;

  const std::string name_;
  // Owned: the object stays until the leaf goes, and a count of 0 in it shows that the parameter is gone. This needs no
  // lock, which a fork or many threads in one forward would meet.
  Parameter* parameter_ = nullptr;
};

class Parameter final : public RefCounted {
 public:
  // REQUIRES: `master` is contiguous and requires no gradient.
  Parameter(std::string name, Tensor master, MasterMemory memory = MasterMemory::kOwn);
  // A parameter whose weights are allocated and filled when they are first needed. REQUIRES: `master` is all of a
  // storage without memory.
  Parameter(std::string name, const Tensor& master, WeightFill fill);
  // True until the weights are first needed.
  bool is_deferred() const noexcept { return weights().storage()->restorer() != nullptr && !is_sharded(); }
  // Has the weights there: reading them does so, but master(), kept() and weights() do not. Sharded weights are
  // restored, which throws STATE outside the forward and backward of the sharded module. Throws OUT_OF_MEMORY.
  void materialize() const {
    if (StorageRestorer* restorer = weights().storage()->restorer()) [[unlikely]]
      restorer->restore();
  }

  const char* name() const noexcept { return leaf_->name(); }
  const Shape& shape() const noexcept { return leaf_->shape(); }
  ContextDevice& device() const noexcept { return leaf_->device(); }

  // The gradient of autograd, with its memory.
  AccumulateGrad& accumulator() noexcept { return *leaf_; }
  const AccumulateGrad& accumulator() const noexcept { return *leaf_; }
  // Short for the accumulator's.
  bool has_grad() const noexcept { return leaf_->has_grad(); }
  const Tensor& grad() const noexcept { return leaf_->grad(); }
  void zero_grad() noexcept { leaf_->zero_grad(); }
  bool is_frozen() const noexcept { return leaf_->is_frozen(); }
  void set_frozen(bool frozen) noexcept { leaf_->set_frozen(frozen); }
  // They end with the parameter, also if a graph keeps the leaf.
  Hooks<AccumulateGrad::PostAccumulateHook>& post_accumulate_hooks() noexcept { return leaf_->post_accumulate_hooks(); }

  // Undefined if the weights are split. Of a sharded parameter, as the copy and the remainder: the shard alone, 1-D.
  const Tensor& master() const noexcept { return master_; }
  // All of the parameter, unless ranks share its update.
  const Shard& shard() const noexcept { return shard_; }
  // The gradient of the shard, reduced over ranks: 1-D [end - begin], contiguous. An optimizer uses it in place of
  // grad(), which stays autograd's: the whole gradient of this rank. Undefined if there is none.
  const Tensor& shard_grad() const noexcept { return shard_grad_; }
  void set_shard_grad(Tensor grad) noexcept { shard_grad_ = std::move(grad); }
  bool has_shard_grad() const noexcept { return shard_grad_.defined() || (has_grad() && !is_sharded()); }
  // True if that gradient is of a scaled loss.
  bool has_scaled_grad() const noexcept { return has_shard_grad() && leaf_->was_scaled(); }

  // Shares the weights among ranks. From now on this rank keeps the shard alone: it is what an optimizer updates, and
  // what a state dict holds. Operations read `gathered`, which the caller brings up to date after every update, and
  // whose storage has a restorer while its content is not there. REQUIRES: `shard` is a range of the parameter; it
  // begins at a multiple of 256, and ends at one or at the parameter's end. `kept` is 1-D, contiguous, and has the
  // elements of `shard`; `gathered` has the parameter's shape. There is no optimizer, copy or remainder. If the master
  // is the caller's memory, `kept` and `gathered` are that memory.
  void share(const Shard& shard, Tensor kept, Tensor gathered, Ref<ShardRanks> ranks);
  bool is_sharded() const noexcept { return gathered_.defined(); }
  // Null unless sharded.
  const Ref<ShardRanks>& ranks() const noexcept { return ranks_; }
  // Before anybody changes the shard's weights.
  void settle() const noexcept {
    if (ranks_) ranks_->settle();
  }
  // The place of the shard's state while it is not used; null: on the device. REQUIRES: sharded.
  void set_state_memory(Ref<StateMemory> memory) noexcept { state_memory_ = std::move(memory); }
  const Ref<StateMemory>& state_memory() const noexcept { return state_memory_; }
  // The elements of the master, or of a moment, that are not in the device's memory now; null if they are.
  Ref<const StateStore> offloaded(const Tensor& state) const {
    return state_memory_ && state.storage()->restorer() != nullptr ? state_memory_->store_of(state) : nullptr;
  }
  // The first element of master(), or of the tensors in its place.
  int64_t kept_begin() const noexcept { return is_sharded() ? shard_.begin : 0; }
  // Writes the shard's weights to `target`, 1-D, of any float dtype. This counts as no write.
  void read_shard(const Tensor& target) const;
  bool is_shared() const noexcept { return memory_ == MasterMemory::kShared; }

  // The tensor that an optimizer updates: the master, or the BF16 part of split weights.
  const Tensor& kept() const noexcept { return is_split() ? compute_ : master_; }
  // The tensor that operations read: kept(), or the gathered weights of a sharded parameter.
  const Tensor& weights() const noexcept { return is_sharded() ? gathered_ : kept(); }
  // The tensor over weights() for operations. This, and every other read, calls materialize(). Gradients of results
  // computed from it arrive at the accumulator, unless the parameter is frozen. All calls return one tensor, which must
  // not be changed; new_leaf() is for others.
  Tensor leaf() const;
  // As leaf(), but a tensor object of its own, which a caller may change.
  Tensor new_leaf() const;
  // A leaf in another dtype: kept as leaf() is if keeps(dtype), else a cast that is made in each call. It has its
  // source even if the parameter is frozen: it replaces a leaf that was taken before.
  Tensor leaf_in(DType dtype) const;
  // The weights in a dtype, without gradient source: the weights themselves, the copy where it is current, else a cast
  // (of the joined FP32 where they are split) that is not kept, so that concurrent readers are safe.
  Tensor read(DType dtype) const;
  // True if the weights exist in this dtype, so that reading needs no cast.
  bool keeps(DType dtype) const noexcept { return readable(dtype) != nullptr; }

  // The copy that the owning optimizer writes, or the BF16 part of split weights; undefined where there is neither.
  const Tensor& compute() const noexcept { return compute_; }
  // Values of any float, of kept()'s shape, in the dtype and layout that `write` takes. Throws OUT_OF_MEMORY.
  Tensor writable(const Tensor& values) const;
  // Called by nn::load_state: sets the weights with the copy and the remainder. It calls mark_current() once every
  // parameter is written. REQUIRES: `values` are from writable() and share no memory with the weights.
  void write(const Tensor& values);
  // Does the rest of write() if the master's memory holds the values already. REQUIRES: the weights are not split.
  void update_copy();
  // Joins elements [begin, begin + target.numel()) of kept(), split weights, into `target`: f32, contiguous, on the
  // weights' device.
  void join_range(int64_t begin, const Tensor& target) const;

  // Called by the owning optimizer: sets the low-precision copy, current from now on. An undefined tensor removes it.
  void set_compute(Tensor compute) noexcept;
  // Called by the owning optimizer after its update: mark_updated() for every parameter, then mark_current() for every
  // one, since several parameters may share a storage.
  void mark_updated() noexcept;
  void mark_current() noexcept { of_version_ = kept().version(); }
  // The copy, or the remainder, belongs to the weights.
  bool is_current() const noexcept { return of_version_ == kept().version(); }

  bool is_split() const noexcept { return remainder_.defined(); }
  // The 16 bits that split weights lack of FP32 (formula/split_master.h).
  const Tensor& remainder() const noexcept { return remainder_; }

  // The storage representation of a parameter. Build a new one, which may share tensors with the current one, then
  // install it with install(), which cannot fail.
  struct Representation {
    Tensor master;
    Tensor compute;
    Tensor remainder;
  };
  // The optimizer's; all throw OUT_OF_MEMORY. Split weights. REQUIRES: an f32 master that is not shared, or split.
  Representation split_representation() const;
  // A master, with a copy in `compute_dtype`; none where that is f32.
  Representation whole_representation(DType compute_dtype) const;
  // 16 bits alone: f32 or split weights are rounded to `dtype`, and what they lose is gone. REQUIRES: not shared.
  Representation narrow_representation(DType dtype) const;
  // Keeps the weights in this representation. Leaves made before still refer to the former tensors, and backward
  // through them is STATE. REQUIRES: the weights were not written since it was made.
  void install(Representation made) noexcept;

  void split() { install(split_representation()); }
  void join() { install(whole_representation(DType::kF32)); }
  void narrow(DType dtype) { install(narrow_representation(dtype)); }
  // The optimizer's, before an update: a remainder does not belong to weights that others wrote since.
  void drop_stale_remainder();

  // A parameter has one optimizer at a time. Returns true where it was free.
  bool claim() noexcept { return !claimed_.exchange(true); }
  void unclaim() noexcept {
    rule_ = nullptr;
    claimed_.store(false);
  }
  // The optimizer that has claimed the parameter; null until it has told.
  const UpdateRule* rule() const noexcept { return rule_; }
  void set_rule(const UpdateRule* rule) noexcept { rule_ = rule; }

 protected:
  // Releases the tensors and hooks. The leaf deletes the object.
  void dispose() noexcept override;

 private:
  friend class ParameterLeaf;
  ~Parameter() override = default;

  void track(const Tensor& tensor) const noexcept;
  // The weights or the current copy in a dtype; null if neither has it.
  const Tensor* readable(DType dtype) const noexcept;
  Tensor joined(Category category) const;

  Ref<ParameterLeaf> leaf_;
  LeafTensor weights_leaf_;  // over weights()
  LeafTensor copy_leaf_;     // over compute_
  Tensor master_;
  Tensor compute_;
  Tensor remainder_;
  Ref<RangeVersion> range_ = make_ref<RangeVersion>();  // of weights that are a part of a flat buffer
  Tensor gathered_;                                     // undefined unless sharded
  Ref<ShardRanks> ranks_;
  Ref<StateMemory> state_memory_;
  Ref<DeferredWeights> deferred_;  // of weights that were made later; null for others
  uint64_t of_version_ = 0;        // kept().version() that the copy, or the remainder, belongs to
  Shard shard_;
  Tensor shard_grad_;
  MasterMemory memory_;
  std::atomic<bool> claimed_{false};
  const UpdateRule* rule_ = nullptr;
};

// The parameter that a leaf stands for; null if it is no parameter's, or the parameter is gone. Any thread.
Ref<Parameter> parameter_of(AccumulateGrad& leaf) noexcept;
Ref<Parameter> parameter_of(const Tensor& tensor) noexcept;

}  // namespace halftone
