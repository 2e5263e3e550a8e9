#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "capture.h"
#include "deferred_queue.h"
#include "emulation.h"

namespace emulation {

using halftone::Status;
using halftone::deferred::Machine;
using halftone::deferred::Queue;

namespace {

constexpr size_t kAlignment = 256;
constexpr int kUnset = 0xff;  // NaN in every float, and no valid index

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

World& world() {
  static World* const made = new World;
  return *made;
}

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

Machine& current_machine() { return world().devices[current_device].machine; }

// A call that no capture allows, or where `is_unsafe`, only one in relaxed mode.
cudaError_t refuse_in_capture(bool is_unsafe) {
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
cudaError_t state_of(Machine& machine) { return machine.is_lost ? result(cudaErrorECCUncorrectable) : cudaSuccess; }

cudaError_t allocate(void** out, size_t bytes, cudaMemoryType type) {
  const auto counted = static_cast<int64_t>(type == cudaMemoryTypeDevice ? bytes : 0);
  const std::lock_guard lock(world().mutex);
  if (world().device_bytes + counted > memory_limit) return result(cudaErrorMemoryAllocation);
  if (posix_memalign(out, kAlignment, bytes > 0 ? bytes : 1) != 0) return result(cudaErrorMemoryAllocation);
  std::memset(*out, kUnset, bytes);
  world().device_bytes += counted;
  world().memory[static_cast<const char*>(*out)] = {bytes, type};
  return cudaSuccess;
}

void release(void* memory) {
  if (memory == nullptr) return;
  const std::lock_guard lock(world().mutex);
  const auto found = world().memory.find(static_cast<const char*>(memory));
  if (found == world().memory.end()) std::abort();  // freed twice, or never allocated
  if (found->second.type == cudaMemoryTypeDevice) {
    world().device_bytes -= static_cast<int64_t>(found->second.bytes);
  }
  std::memset(memory, kUnset, found->second.bytes);
  world().memory.erase(found);
  std::free(memory);
}

cudaMemoryType type_of(const void* memory) {
  const auto* byte = static_cast<const char*>(memory);
  const std::lock_guard lock(world().mutex);
  const auto after = world().memory.upper_bound(byte);
  if (after == world().memory.begin()) return cudaMemoryTypeUnregistered;
  const auto& [first, block] = *std::prev(after);
  return byte < first + block.bytes ? block.type : cudaMemoryTypeUnregistered;
}

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

class FakeGraphExec {
 public:
  std::vector<std::function<void()>> work;
};

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

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(stream->machine.mutex);
  if (stream->machine.is_lost) return result(cudaErrorECCUncorrectable);
  ++counts.queued;
  if (stream->capture != nullptr) {
    if (stream->capture->is_invalid()) return result(cudaErrorStreamCaptureInvalidated);
    stream->capture->add(stream, std::move(work));
    return cudaSuccess;
  }
  stream->queue->add([run = std::move(work)](halftone::Stream&) {
    run();
    return Status{};
  });
  return cudaSuccess;
}

cudaError_t enqueue_attempt(cudaStream_t stream, std::function<bool()> attempt) {
  const Lock lock(stream->machine.mutex);
  if (stream->machine.is_lost) return result(cudaErrorECCUncorrectable);
  ++counts.queued;
  stream->queue->add_attempt(std::move(attempt));
  return cudaSuccess;
}

namespace {

// Attempts wait for other devices, whose threads need the locks meanwhile.
template <class IsOver>
cudaError_t run_while_waiting(Machine& machine, IsOver&& is_over) {
  for (;; std::this_thread::sleep_for(std::chrono::microseconds(20))) {
    const Lock lock(machine.mutex);
    if (is_over()) return state_of(machine);
  }
}

cudaError_t wait_for(Machine& machine, const std::shared_ptr<Queue>& queue, int64_t position) {
  ++counts.waits;
  return run_while_waiting(machine, [&] {
    if (runs_others_first) machine.run_all();
    if (queue != nullptr) queue->run_until(position);
    return queue == nullptr || queue->is_past(position);
  });
}

cudaError_t refuse(Capture& capture, cudaError_t error) {
  capture.invalidate();
  return result(error);
}

cudaError_t run_everything(Machine& machine) {
  return run_while_waiting(machine, [&] {
    machine.run_all();
    return std::all_of(machine.queues.begin(), machine.queues.end(),
                       [](const Queue* queue) { return queue->is_past(queue->length()); });
  });
}

}  // namespace

}  // namespace emulation

using namespace emulation;

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorECCUncorrectable:
      return "uncorrectable ECC error encountered";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureWrongThread:
      return "attempt to terminate a thread-local capture sequence from another thread";
    case cudaErrorCapturedEvent:
      return "operation not permitted on an event last recorded in a capturing stream";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureUnmatched:
      return "the capture was not initiated in this stream";
  }
  return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorECCUncorrectable:
      return "cudaErrorECCUncorrectable";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureWrongThread:
      return "cudaErrorStreamCaptureWrongThread";
    case cudaErrorCapturedEvent:
      return "cudaErrorCapturedEvent";
    case cudaErrorStreamCaptureIsolation:
      return "cudaErrorStreamCaptureIsolation";
    case cudaErrorStreamCaptureUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureUnmatched:
      return "cudaErrorStreamCaptureUnmatched";
  }
  return "cudaErrorUnknown";
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (machine_answers.device_count_error != cudaSuccess) {
    return result(static_cast<cudaError_t>(machine_answers.device_count_error.load()));
  }
  *count = machine_answers.device_count;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= machine_answers.device_count) return result(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = machine_answers.driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

// As an H100 with few multiprocessors, so that small tensors fill it and grids loop.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= machine_answers.device_count) return result(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = 2;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = machine_answers.capability_major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(kSharedMemory);
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t error = refuse_in_capture(false); error != cudaSuccess) return error;
  return run_everything(current_machine());
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const std::lock_guard lock(world().mutex);
  *total = static_cast<size_t>(memory_limit);
  *free = static_cast<size_t>(std::max<int64_t>(memory_limit - world().device_bytes, 0));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
  if (const cudaError_t error = refuse_in_capture(true); error != cudaSuccess) return error;
  return allocate(out, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned) {
  if (const cudaError_t error = refuse_in_capture(true); error != cudaSuccess) return error;
  return allocate(out, bytes, cudaMemoryTypeManaged);
}
// Advice is for managed memory alone.
cudaError_t cudaMemAdvise(const void* memory, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return type_of(memory) == cudaMemoryTypeManaged ? cudaSuccess : result(cudaErrorInvalidValue);
}
cudaError_t cudaMemPrefetchAsync(const void* memory, size_t, cudaMemLocation, unsigned, cudaStream_t stream) {
  if (type_of(memory) != cudaMemoryTypeManaged) return result(cudaErrorInvalidValue);
  ++counts.prefetches;
  return enqueue(stream, [] {});
}
// Both wait for the device.
cudaError_t cudaFree(void* memory) {
  if (const cudaError_t error = refuse_in_capture(false); error != cudaSuccess) return error;
  run_everything(current_machine());
  release(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  if (const cudaError_t error = refuse_in_capture(true); error != cudaSuccess) return error;
  return allocate(out, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaFreeHost(void* memory) {
  if (const cudaError_t error = refuse_in_capture(false); error != cudaSuccess) return error;
  run_everything(current_machine());
  release(memory);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  attributes->type = type_of(memory);
  return cudaSuccess;
}

// Memory that is not pinned is read at once, after a wait for the stream, which counts; and written after one.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const bool is_direct = type_of(kind == cudaMemcpyHostToDevice ? from : to) != cudaMemoryTypeUnregistered;
  if (stream->capture != nullptr && kind != cudaMemcpyDeviceToDevice && !is_direct) {
    return refuse(*stream->capture, cudaErrorStreamCaptureUnsupported);
  }
  const cudaError_t error = enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  if (error != cudaSuccess || kind == cudaMemcpyDeviceToDevice || is_direct) return error;
  return cudaStreamSynchronize(stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return enqueue(stream, [=] { std::memset(to, value, bytes); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) {
  const Lock lock(current_machine().mutex);
  *out = new FakeStream(current_machine());
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  run_while_waiting(stream->machine, [&] {
    stream->queue->run_until(stream->queue->length());
    return stream->queue->is_past(stream->queue->length());
  });
  const Lock lock(stream->machine.mutex);
  if (stream->capture != nullptr) stream->capture->invalidate();
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream->capture != nullptr) return refuse(*stream->capture, cudaErrorStreamCaptureUnsupported);
  return wait_for(stream->machine, stream->queue, stream->queue->length());
}
// A stream that waits for a captured event takes part in the capture. One that is captured can wait for no other event.
static cudaError_t wait_in_capture(cudaStream_t stream, cudaEvent_t event) {
  if (stream->capture != nullptr && stream->capture != event->capture) {
    return refuse(*stream->capture, cudaErrorStreamCaptureIsolation);
  }
  if (event->capture->is_invalid()) return result(cudaErrorStreamCaptureInvalidated);
  stream->capture = event->capture;
  stream->capture->join(stream, event->stream, event->position);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(stream->machine.mutex);
  if (event->capture != nullptr || stream->capture != nullptr) return wait_in_capture(stream, event);
  const bool has_order = event->queue == nullptr || event->queue == stream->queue;
  if (!has_order) stream->queue->add_wait(event->queue, event->position);
  return state_of(stream->machine);
}

namespace {

std::vector<std::shared_ptr<Capture>>& captures_of(cudaStream_t stream) {
  FakeDevice& first = world().devices[0];
  return &first.machine == &stream->machine ? first.captures : world().devices[1].captures;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Lock lock(stream->machine.mutex);
  if (stream->capture != nullptr) return result(cudaErrorInvalidValue);
  stream->capture = std::make_shared<Capture>(stream, mode);
  captures_of(stream).push_back(stream->capture);
  return cudaSuccess;
}
// Ends the capture of all streams that took part, also where it fails.
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
  const Lock lock(stream->machine.mutex);
  *out = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return result(cudaErrorInvalidValue);
  if (capture->origin() != stream) return refuse(*capture, cudaErrorStreamCaptureUnmatched);
  if (capture->is_of_other_thread()) return refuse(*capture, cudaErrorStreamCaptureWrongThread);
  for (const auto& [each, position] : capture->streams()) each->capture = nullptr;
  std::erase(captures_of(stream), capture);
  if (capture->is_invalid()) return result(cudaErrorStreamCaptureInvalidated);
  if (!capture->is_joined()) return result(cudaErrorStreamCaptureUnjoined);
  *out = new FakeGraph(std::move(capture->graph()));
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* out) {
  *out = stream->capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  *out = new FakeGraphExec{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  ++counts.graphs;
  for (const std::function<void()>& work : graph->work) {
    if (const cudaError_t error = enqueue(stream, work); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) {
  *out = new FakeEvent(current_machine());
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(event->machine.mutex);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(stream->machine.mutex);
  event->queue = stream->queue;
  event->capture = stream->capture;
  event->stream = stream;
  event->position = stream->capture != nullptr ? stream->capture->position(stream) : stream->queue->length();
  return state_of(stream->machine);
}
// An event of a capture marks no point of the device's work.
static cudaError_t refuse_captured(cudaEvent_t event) {
  const Lock lock(event->machine.mutex);
  if (event->capture != nullptr) return refuse(*event->capture, cudaErrorCapturedEvent);
  return refuse_in_capture(true);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = refuse_captured(event); error != cudaSuccess) return error;
  return wait_for(event->machine, event->queue, event->position);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = refuse_captured(event); error != cudaSuccess) return error;
  const Lock lock(event->machine.mutex);
  if (event->queue != nullptr && !event->queue->is_past(event->position)) event->queue->run_one();
  const bool is_reached = event->queue == nullptr || event->queue->is_past(event->position);
  return is_reached ? state_of(event->machine) : result(cudaErrorNotReady);
}

#define HALFTONE_TEST_EXPORT extern "C" __attribute__((visibility("default")))

HALFTONE_TEST_EXPORT int64_t cuda_emulation_waits() { return counts.waits; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_searches() { return counts.searches; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_products() { return counts.products; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_prefetches() { return counts.prefetches; }
// Device memory for `bytes` more than is allocated now; a negative number lifts the limit.
HALFTONE_TEST_EXPORT void cuda_emulation_leave_memory(int64_t bytes) {
  const std::lock_guard lock(world().mutex);
  memory_limit = bytes < 0 ? kDeviceMemory : world().device_bytes + bytes;
}
HALFTONE_TEST_EXPORT int64_t cuda_emulation_graphs() { return counts.graphs; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_queued() { return counts.queued; }
HALFTONE_TEST_EXPORT void cuda_emulation_set_devices(int32_t count) { machine_answers.device_count = count; }
HALFTONE_TEST_EXPORT void cuda_emulation_run_others_first(int32_t is_first) { runs_others_first = is_first != 0; }
HALFTONE_TEST_EXPORT void cuda_emulation_lose_after(int64_t pieces) { halftone::deferred::pieces_until_loss = pieces; }
// Lost devices work again.
HALFTONE_TEST_EXPORT void cuda_emulation_restore() {
  for (FakeDevice& device : world().devices) {
    const Lock lock(device.machine.mutex);
    device.machine.is_lost = false;
    device.machine.fault = {};
  }
}
HALFTONE_TEST_EXPORT void cuda_emulation_answer(int32_t device_count_error, int32_t driver_version,
                                                int32_t capability) {
  machine_answers.device_count_error = device_count_error;
  machine_answers.driver_version = driver_version;
  machine_answers.capability_major = capability;
}
