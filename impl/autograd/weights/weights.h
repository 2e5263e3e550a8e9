// The representation of a parameter's weights: a master, or 16 bits and the remainder that they lack of FP32, or 16
// bits alone; a copy in another format, which the optimizer writes with the weights; and codes with scales, which
// readers make. The tensors may be ranges of flat buffers that many parameters share; each range then has a version of
// its own. Several threads may read weights. One thread at a time changes them, and meanwhile no other thread uses
// them.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/weights/deferred_weights.h"
#include "autograd/weights/leaf_tensor.h"
#include "autograd/weights/weight_representation.h"

namespace halftone {

class KeptCodes;  // autograd/weights/weight_codes.h

class Weights {
 public:
  // REQUIRES: `master` is contiguous and requires no gradient. If there is a `fill`, `master` is all of a storage
  // without memory, which is allocated and filled when the weights are first needed.
  explicit Weights(Tensor master, WeightFill fill = {});
  ~Weights();

  // The tensor that an optimizer updates: the master, or the BF16 part of split weights. Of weights that ranks share,
  // as the copy and the remainder: the shard alone, 1-D.
  const Tensor& kept() const noexcept { return kept_; }
  // Undefined if the weights are split.
  Tensor master() const noexcept { return is_split() ? Tensor() : kept_; }
  // The copy that the optimizer writes, or the BF16 part of split weights; undefined where there is neither.
  const Tensor& compute() const noexcept { return is_split() ? kept_ : copy_; }
  bool is_split() const noexcept { return remainder_.defined(); }
  // The 16 bits that split weights lack of FP32 (formula/split_master.h).
  const Tensor& remainder() const noexcept { return remainder_; }
  // The tensor that operations read: kept(), or the gathered weights that ranks share.
  const Tensor& tensor() const noexcept { return is_sharded() ? gathered_ : kept_; }

  // From now on kept() is `kept`, a part of the weights, and operations read `gathered`, which the caller brings up to
  // date after every update. REQUIRES: there is no copy and no remainder.
  void share(Tensor kept, Tensor gathered) noexcept;
  bool is_sharded() const noexcept { return gathered_.defined(); }
  // Has the elements of tensor() in memory: reading them does so, but kept(), master() and tensor() do not. Weights
  // that ranks share are restored, which throws STATE outside the forward and backward of the sharded module. Throws
  // OUT_OF_MEMORY.
  void materialize() const {
    if (StorageRestorer* restorer = tensor().storage()->restorer()) [[unlikely]]
      restorer->restore();
  }

  // The weights in a dtype with the gradient source `source`: the tensor that is kept for all calls if keeps(dtype),
  // else a cast of this call. The caller must not change it. REQUIRES: every call passes one source.
  Tensor leaf(DType dtype, GradientSource& source) const;
  // The weights in a dtype, without gradient source: the weights themselves, the copy where it is current, else a cast
  // (of the joined FP32 where they are split) that is not kept, so that concurrent readers are safe.
  Tensor read(DType dtype) const;
  // True if the weights exist in this dtype, so that reading needs no cast.
  bool keeps(DType dtype) const noexcept { return readable(dtype) != nullptr; }
  // Writes elements [begin, begin + target.numel()) of kept() to `target`: contiguous, of any float dtype, on the
  // weights' device. Split weights are joined. This counts as no write.
  void read_range(int64_t begin, const Tensor& target) const;
  // Split weights in FP32.
  Tensor joined(Category category) const;

  // Sets kept() with the copy and the remainder. The caller calls mark_current() once every parameter is written.
  // REQUIRES: `values` are from writable() and share no memory with the weights.
  void write(const Tensor& values);
  // Does the rest of write() if the memory of kept() holds the values already. REQUIRES: the weights are not split.
  void update_copy();
  // Call before an update: a remainder does not belong to weights that others wrote since.
  void drop_stale_remainder();

  // Call after an update: mark_updated() for every parameter, then mark_current() for every one, since several
  // parameters may share a storage.
  void mark_updated() const noexcept;
  void mark_current() noexcept;
  // The copy that the optimizer writes, or the remainder, belongs to the weights.
  bool is_current() const noexcept { return of_version_ == kept_.version(); }

  // Sets the copy that the optimizer writes, current from now on. An undefined tensor removes it. REQUIRES: `compute`
  // is undefined, or the weights are not split.
  void set_compute(Tensor compute) noexcept;
  // Codes belong to the weights while their version is kept().version().
  KeptCodes& codes() const noexcept { return *codes_; }

  // Keeps the weights in this representation and drops the codes of readers. Leaves made before still refer to the
  // former tensors, and backward through them is STATE. REQUIRES: the weights were not written since it was made.
  void install(WeightRepresentation made) noexcept;

 private:
  void track(const Tensor& tensor) const noexcept;
  void drop_copies() noexcept;
  bool has_current_copy(DType dtype) const noexcept {
    return copy_.defined() && copy_.dtype() == dtype && is_current();
  }
  // The weights or a current copy in a dtype; null if neither has it.
  const Tensor* readable(DType dtype) const noexcept;

  Tensor kept_;
  Tensor remainder_;
  Tensor gathered_;  // undefined unless ranks share the weights
  Tensor copy_;      // undefined if there is none, or the weights are split
  LeafTensor leaf_;  // over tensor()
  LeafTensor copy_leaf_;
  const std::unique_ptr<KeptCodes> codes_;              // made by readers
  uint64_t of_version_ = 0;                             // kept().version() that the copy, or the remainder, belongs to
  Ref<RangeVersion> range_ = make_ref<RangeVersion>();  // of weights that are a part of a flat buffer
  Ref<DeferredWeights> deferred_;                       // null unless the weights are made when they are needed
};

// Values of any float, of kept()'s shape, in the dtype and layout that `write` takes. Throws OUT_OF_MEMORY.
Tensor writable(const Weights& weights, const Tensor& values);

}  // namespace halftone
