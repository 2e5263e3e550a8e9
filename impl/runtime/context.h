// A context owns the devices with their allocators, the tables for files and time, the plugins and the seed.
// Objects retain their context, so it may be released while they live. Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/fork_hook.h"
#include "core/host_memory.h"
#include "core/io.h"
#include "core/object_pool.h"
#include "core/philox.h"
#include "core/ref.h"
#include "runtime/allocator.h"
#include "runtime/context_device.h"

namespace halftone {

struct ContextOptions {
  int num_threads = 0;  // 0: HALFTONE_NUM_THREADS, or the affinity mask and cgroup quota; clamped to 256
  uint64_t seed = 0;
  bool allows_tf32 = false;  // products of FP32 operands may round them, on devices that have the option
  HostMemory memory = system_memory();
  Io io = system_io();
  Clock clock = system_clock();
};

struct DeviceName;  // runtime/registry.h
struct Plugin;      // runtime/plugin_loader.h

class Context final : public RefCounted {
 public:
  explicit Context(const ContextOptions& options);
  ~Context() override;

  // The number of threads that the CPU device uses, including the caller.
  int num_threads() const noexcept { return num_threads_; }
  const Io& io() const noexcept { return options_.io; }
  const Clock& clock() const noexcept { return options_.clock; }
  uint64_t seed() const noexcept { return seed_.load(std::memory_order_relaxed); }

  // A new Philox sequence number. Objects created in one order from one seed draw the same numbers in every run.
  uint64_t next_sequence() noexcept { return next_sequence_.fetch_add(1, std::memory_order_relaxed); }
  // Takes several at once, and returns the number of the first.
  uint64_t take_sequences(uint64_t count) noexcept {
    return next_sequence_.fetch_add(count, std::memory_order_relaxed);
  }
  // Undoes it, unless others were taken since.
  void return_sequences(uint64_t first, uint64_t count) noexcept {
    uint64_t next = first + count;
    next_sequence_.compare_exchange_strong(next, first, std::memory_order_relaxed);
  }
  // Saved in a checkpoint with the seed: the number of sequences taken so far.
  uint64_t sequences_taken() const noexcept { return next_sequence_.load(std::memory_order_relaxed); }
  // The next sequence is number `sequences_taken` of this seed. REQUIRES: no other thread draws meanwhile.
  void set_generator(uint64_t seed, uint64_t sequences_taken) noexcept {
    seed_.store(seed, std::memory_order_relaxed);
    next_sequence_.store(sequences_taken, std::memory_order_relaxed);
  }
  // The microbatches that deterministic training on any number of ranks has begun (runtime/forward_keys.h). Saved in a
  // checkpoint, too.
  uint64_t microbatches_taken() const noexcept { return next_microbatch_.load(std::memory_order_relaxed); }
  uint64_t take_microbatches(uint64_t count) noexcept {
    return next_microbatch_.fetch_add(count, std::memory_order_relaxed);
  }
  void set_microbatches_taken(uint64_t count) noexcept { next_microbatch_.store(count, std::memory_order_relaxed); }
  // The key of a new sequence, or under a KeyTape that replays the one taken before; in the forward of a model that
  // ranks train together, its ForwardKeys decide. If the C call fails, the sequence is returned, so that the repeated
  // call draws the same numbers. Throws OUT_OF_MEMORY; UNSUPPORTED where a recording cannot draw them.
  PhiloxKey next_key();

  // "cpu", "cuda", "cuda:1", or a name that a loaded plugin serves. A plugin of this project that lies beside the
  // library is loaded when its devices are asked for. Throws DEVICE if there is no such device.
  ContextDevice& device(const char* name);

  // Loads a plugin from a path. Throws IO if the file cannot be opened, FORMAT if it is not a plugin, UNSUPPORTED if
  // its build id differs.
  void load_plugin(const char* path);
  // The plugins loaded so far. Throws OUT_OF_MEMORY.
  std::vector<Plugin> plugins() const;

  // Scratch memory that backward keeps between its runs. Null before the first run and while another run has it.
  Ref<RefCounted> take_scratch() noexcept { return Ref<RefCounted>::adopt(scratch_.exchange(nullptr)); }
  // REQUIRES: `scratch` refers to no object of this context.
  void keep_scratch(Ref<RefCounted> scratch) noexcept {
    scratch = Ref<RefCounted>::adopt(scratch_.exchange(scratch.detach()));
  }

 private:
  PhiloxKey key_of_context();
  void load_plugin_for(const DeviceName& name);
  // REQUIRES: mutex_ is held.
  ContextDevice* find_device(const DeviceName& name) const;
  std::unique_ptr<ContextDevice> make_device(const DeviceName& name, const std::vector<Plugin>& plugins);

  const ObjectPool::User object_pool_;  // first, so that it is destroyed behind the others
  ContextOptions options_;
  const int num_threads_;
  std::atomic<uint64_t> seed_;
  std::atomic<uint64_t> next_sequence_{0};
  std::atomic<uint64_t> next_microbatch_{0};
  std::atomic<RefCounted*> scratch_{nullptr};
  mutable ForkMutex mutex_;  // guards the members below
  std::vector<Plugin> plugins_;
  std::vector<std::unique_ptr<ContextDevice>> devices_;
};

}  // namespace halftone
