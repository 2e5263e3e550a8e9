// The state of the emulated CUDA runtime, which its sources share: devices, memory, streams, events and waits. Safe
// from any thread.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "capture.h"
#include "deferred_queue.h"
#include "emulation.h"

namespace emulation {

using halftone::Status;
using halftone::deferred::Machine;
using halftone::deferred::Queue;

// Work needs no stream of the CPU.
class NoStream final : public halftone::Stream {
 public:
  void destroy() noexcept override {}
  Status synchronize() noexcept override { return {}; }
};

struct FakeDevice {
  NoStream none;
  Machine machine{none};
  std::vector<std::shared_ptr<Capture>> captures;  // under way
};

struct Memory {
  size_t bytes;
  cudaMemoryType type;
};

// Never destroyed, since streams may outlive static objects.
struct World {
  FakeDevice devices[kMostDevices];
  std::mutex mutex;  // guards the members below
  std::map<const char*, Memory> memory;
  int64_t device_bytes = 0;  // of both devices
  bool is_lost = false;
};

inline World& world() {
  static World* const made = new World;
  return *made;
}

inline thread_local int current_device = 0;
inline thread_local cudaError_t last_error = cudaSuccess;

inline cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

inline Machine& current_machine() { return world().devices[current_device].machine; }

// A call that no capture allows, or where `is_unsafe`, only one in relaxed mode.
inline cudaError_t refuse_in_capture(bool is_unsafe) {
  FakeDevice& device = world().devices[current_device];
  const std::lock_guard lock(device.machine.mutex);
  for (const std::shared_ptr<Capture>& capture : device.captures) {
    if (is_unsafe && !capture->forbids_unsafe_calls()) continue;
    capture->invalidate();
    return result(cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}

// A lost device fails every call from then on, as after an uncorrectable error of its memory.
inline cudaError_t state_of(Machine& machine) {
  return machine.is_lost ? result(cudaErrorECCUncorrectable) : cudaSuccess;
}

using Lock = std::lock_guard<std::recursive_mutex>;

class FakeStream {
 public:
  explicit FakeStream(Machine& on) : machine(on), queue(std::make_shared<Queue>(on)) {}
  Machine& machine;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Capture> capture;  // null: none is under way
};

class FakeEvent {
 public:
  explicit FakeEvent(Machine& on) : machine(on) {}
  Machine& machine;
  std::shared_ptr<Queue> queue;
  int64_t position = 0;
  std::shared_ptr<Capture> capture;  // that it was recorded in
  cudaStream_t stream = nullptr;     // in that capture
};

// Attempts wait for other devices, whose threads need the locks meanwhile.
template <class IsOver>
cudaError_t run_while_waiting(Machine& machine, IsOver&& is_over) {
  for (;; std::this_thread::sleep_for(std::chrono::microseconds(20))) {
    const Lock lock(machine.mutex);
    if (is_over()) return state_of(machine);
  }
}

inline cudaError_t wait_for(Machine& machine, const std::shared_ptr<Queue>& queue, int64_t position) {
  ++counts.waits;
  return run_while_waiting(machine, [&] {
    if (runs_others_first) machine.run_all();
    if (queue != nullptr) queue->run_until(position);
    return queue == nullptr || queue->is_past(position);
  });
}

inline cudaError_t refuse(Capture& capture, cudaError_t error) {
  capture.invalidate();
  return result(error);
}

inline cudaError_t run_everything(Machine& machine) {
  return run_while_waiting(machine, [&] {
    machine.run_all();
    return std::all_of(machine.queues.begin(), machine.queues.end(),
                       [](const Queue* queue) { return queue->is_past(queue->length()); });
  });
}

// Makes a stream that waits for a captured event take part in the capture.
cudaError_t wait_in_capture(cudaStream_t stream, cudaEvent_t event);

}  // namespace emulation

#define HALFTONE_TEST_EXPORT extern "C" __attribute__((visibility("default")))
