#include "world.h"

namespace emulation {

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
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(stream->machine.mutex);
  if (event->capture != nullptr || stream->capture != nullptr) return wait_in_capture(stream, event);
  const bool has_order = event->queue == nullptr || event->queue == stream->queue;
  if (!has_order) stream->queue->add_wait(event->queue, event->position);
  return state_of(stream->machine);
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

HALFTONE_TEST_EXPORT int64_t cuda_emulation_waits() { return counts.waits; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_searches() { return counts.searches; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_products() { return counts.products; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_block_products() { return counts.block_products; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_prefetches() { return counts.prefetches; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_graphs() { return counts.graphs; }
HALFTONE_TEST_EXPORT int64_t cuda_emulation_queued() { return counts.queued; }
HALFTONE_TEST_EXPORT void cuda_emulation_set_rare_ends(int32_t has) { machine_answers.has_rare_ends = has != 0; }
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
