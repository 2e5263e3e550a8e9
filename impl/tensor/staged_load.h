// A load of a state into live objects, in three stages, so that a load that cannot succeed changes nothing:
//  1. The objects' rooms check the state and add their writes.
//  2. prepare() allocates what the writes need: scratch memory for one tensor at a time.
//  3. commit() writes. It reads one tensor after the other and allocates nothing. It fails only if a device fails, or a
//     disk that could be read a moment ago; then a part of the state is loaded.
// Elements go straight from a reader to the live tensor if that has the reader's dtype, is contiguous, and is in
// host-accessible memory. REQUIRES: the objects live until the commit. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/state_dict.h"

namespace halftone {

class StagedLoad {
 public:
  using Action = std::function<void()>;
  using Write = std::function<void(const Tensor& values)>;

  // The commit calls `action` at this place in the order of writes.
  void add(Action action);
  // Elements from `begin` on of the whole tensor, flattened, or of a box of it. REQUIRES: the entry has them.
  struct Place {
    Place(int64_t first, std::shared_ptr<const Box> part = nullptr) : begin(first), box(std::move(part)) {}
    BoxRange range(int64_t count) const { return {.box = box.get(), .begin = begin, .end = begin + count}; }
    int64_t begin;
    std::shared_ptr<const Box> box;  // null: the whole tensor
  };
  // The commit writes the target.numel() elements of `values` from `place` on to `target`, converted, and calls `then`.
  void add_read(const StateTensor& values, const Place& place, const Tensor& target, Action then = {});
  // Elements of an entry from `place` on, in a shape.
  struct Part {
    const StateTensor& entry;
    Place place = 0;
    Shape shape;
  };
  // The commit calls write(values) with these elements, contiguous and in `dtype`, in memory of `device` that is valid
  // during the call.
  void add_write(const Part& part, ContextDevice& device, DType dtype, Write write);
  // Adds the writes of another load behind those of this one.
  void append(StagedLoad other);

  // Throws OUT_OF_MEMORY; nothing has changed then.
  void prepare();
  // REQUIRES: prepare() was called, and nothing was added since.
  void commit() const;
  // As commit(), but the message of an error says that `object`, such as "the module", was partly loaded.
  void commit_or_tell(const char* object) const;
  void operator()() {
    prepare();
    commit();
  }

 private:
  class Scratch;
  struct Step {
    StateTensor entry = {};  // its reader is null: nothing is read
    Place place = 0;
    Tensor target = {};  // live memory for the elements as they are; undefined: they go to scratch memory for `write`
    Write write = {};    // may be empty
    // Of what `write` gets:
    ContextDevice* device = nullptr;
    DType dtype = DType::kF32;
    Shape shape = {};
    // Memory that prepare() finds. Tensors are equal where no copy is needed.
    Tensor host = {};     // the reader writes to it
    Tensor as_read = {};  // on `device`, in the reader's dtype
    Tensor values = {};   // on `device`, in `dtype`
  };

  static void find_memory(Step& step, Scratch& scratch);
  static void run(const Step& step);

  std::vector<Step> steps_;
};

// Prepares to copy `values` into the `targets` of the same names. A target with a range needs that range of the values
// alone. Throws FORMAT naming the first target that is missing or has another dtype or shape, STATE for one that may
// not be written. Scalars are ignored.
StagedLoad stage_copy(const StateDict& targets, const StateDict& values);

}  // namespace halftone
