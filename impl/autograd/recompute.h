// Recomputation: a region is a part of a graph, recorded by one forward, whose operations keep none of the tensors that
// the forward made. When backward first needs one of them, the forward runs a second time, which makes all of them
// again, and the graph of this second run is dropped. So the recorded graph, its hooks and the engine are the same as
// without a region. A region records what one thread runs, and one backward at a time may run through it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/thread.h"
#include "runtime/key_tape.h"
#include "tensor/tensor.h"

namespace halftone {

// A tensor with the version that it had when an operation saved it.
struct SavedValue {
  Tensor tensor;
  uint64_t version = 0;
};

// nn::Module makes one for each forward of a module that is marked.
class RecomputeRegion : public RefCounted {
 public:
  // For messages: "layer h.0 (transformer_block)".
  virtual std::string place() const = 0;
  // Throws STATE where the forward would read another value than the first time.
  virtual void require_unchanged() const = 0;
  // Runs the forward as the first time, with autocast and modes of then.
  virtual void run_again() const = 0;
  // True where the second run may end by an exception that is no Error, as soon as it has made all tensors: nothing in
  // it runs code of the caller's.
  virtual bool may_stop_early() const noexcept = 0;
  // True where operations whose results cost much and take little memory keep them, so that the second run may end
  // before it computes them.
  virtual bool keeps_costly_results() const noexcept { return false; }

 private:
  friend class RecomputePass;
  friend class RecomputedTensors;

  // A tensor that an operation saved, by the order in which they were saved.
  struct Slot {
    bool is_kept;  // by the operation's node: the tensor was there before the forward
    DType dtype;
    Shape shape;
  };

  std::vector<Slot> slots_;
  uint64_t made_count_ = 0;      // slots that are made again
  std::vector<PhiloxKey> keys_;  // of the random sequences that the forward took
  bool is_complete_ = false;     // the first run has ended
  bool is_running_ = false;
};

// Ends a second run that has nothing left to make.
struct AllMadeAgain {};

// One run of a region's forward, on this thread, until the end of a block.
class RecomputePass {
 public:
  // The first run. It must end with complete(), else backward of its operations is STATE.
  explicit RecomputePass(const Ref<RecomputeRegion>& region);
  // A second run, which writes the tensors to `made`, in the order of the first.
  RecomputePass(const Ref<RecomputeRegion>& region, std::vector<SavedValue>& made);
  ~RecomputePass();
  RecomputePass(const RecomputePass&) = delete;
  RecomputePass& operator=(const RecomputePass&) = delete;

  bool is_second() const noexcept { return made_ != nullptr; }
  const Ref<RecomputeRegion>& region() const noexcept { return region_; }
  void complete() noexcept { region_->is_complete_ = true; }
  // Throws STATE where the second run did not save the same tensors and draw as many random numbers as the first.
  void require_same() const;

  // Called with each tensor that an operation saves. Returns false where the node must keep it; else the region makes
  // it again, as number `index`. Throws OUT_OF_MEMORY, and AllMadeAgain where the region may stop early.
  bool takes(const SavedValue& value, uint64_t& index);

 private:
  bool takes_first(const Tensor& tensor);
  bool takes_second(const SavedValue& value);

  const Ref<RecomputeRegion> region_;
  std::vector<SavedValue>* const made_ = nullptr;  // of a second run
  const ThreadGuard<&Scope::recompute> current_;
  const StorageMark mark_;
  KeyTape tape_;
  uint64_t count_ = 0;      // tensors saved so far
  uint64_t missing_ = 0;    // tensors that a second run has to make yet
  std::string difference_;  // the first one from the first run
};

// Called with a result before it is saved. Where this thread's region keeps costly results, nodes keep this one.
void keep_costly_result(const Tensor& result) noexcept;

// True while a region's forward runs for the second time on this thread: what must happen once has happened.
bool is_recomputing() noexcept;

// The tensors that one backward has made again. The engine has one.
class RecomputedTensors {
 public:
  // Runs the region's forward where that is needed. The reference is valid until end_node(). Throws STATE, and what the
  // forward throws.
  const SavedValue& get(const Ref<RecomputeRegion>& region, uint64_t index);
  // Backward of one node has run, so that the tensors that it got are not needed again.
  void end_node() noexcept;

 private:
  struct Entry {
    Ref<RecomputeRegion> region;
    std::vector<SavedValue> values;  // by index; undefined where the node keeps its tensor or has had it
  };

  Entry& entry_of(const Ref<RecomputeRegion>& region);
  // Gives an entry the values that it lacks. The others stay, as a node may use them now.
  static void fill(Entry& entry);
  static std::vector<SavedValue> made_again(const Ref<RecomputeRegion>& region);

  std::vector<Entry> entries_;
  std::vector<SavedValue*> taken_;  // by the node whose backward runs
};

}  // namespace halftone
