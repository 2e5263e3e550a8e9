// A CUDA runtime on the CPU, for tests on machines without a GPU: the words of device code, and those functions of the
// runtime that impl/cuda calls. It is found in place of NVIDIA's header where the sources of impl/cuda are compiled as
// C++. The device's work runs only when the program waits, in another order across streams
// (tests/plugin/deferred_queue.h), and the threads of a block run in turn, as fibers (block.h). Names, values and
// behaviour are those of CUDA 13.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "block.h"

#ifndef CUDART_VERSION
#define CUDART_VERSION 13000
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
// One copy for each block: blocks run one after another, on the thread that waits.
#define __shared__ static thread_local

struct dim3 {
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  unsigned x, y, z;
};

using emulation::blockDim;
using emulation::blockIdx;
using emulation::gridDim;
using emulation::threadIdx;

struct uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

inline void __syncthreads() { emulation::wait_for_block(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { emulation::wait_for_warp(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return emulation::exchange(mask, value, [=](int own) { return own / width * width + lane % width; });
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  return emulation::exchange(mask, value, [=](int own) {
    const int other = own ^ bits;
    return other / width == own / width ? other : own;
  });
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return emulation::exchange(mask, value, [=](int own) {
    const int other = own - static_cast<int>(delta);
    return other >= own / width * width ? other : own;
  });
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return emulation::exchange(mask, value, [=](int own) {
    const int other = own + static_cast<int>(delta);
    return other < (own / width + 1) * width ? other : own;
  });
}
unsigned __ballot_sync(unsigned mask, int predicate);
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }
inline int __syncthreads_or(int predicate) { return emulation::block_or(predicate != 0); }
inline int __syncthreads_count(int predicate) { return emulation::block_count(predicate != 0); }

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }

// One thread runs at a time.
template <class T>
T atomicAdd(T* place, std::type_identity_t<T> value) {
  return std::exchange(*place, static_cast<T>(*place + value));
}
template <class T>
T atomicCAS(T* place, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  const T before = *place;
  if (before == expected) *place = desired;
  return before;
}
template <class T>
T atomicExch(T* place, std::type_identity_t<T> value) {
  return std::exchange(*place, value);
}
template <class T>
T atomicMin(T* place, std::type_identity_t<T> value) {
  return std::exchange(*place, value < *place ? value : *place);
}
template <class T>
T atomicMax(T* place, std::type_identity_t<T> value) {
  return std::exchange(*place, *place < value ? value : *place);
}
template <class T>
T atomicOr(T* place, std::type_identity_t<T> value) {
  return std::exchange(*place, *place | value);
}

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorECCUncorrectable = 214,
  cudaErrorNotReady = 600,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnmatched = 903,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorCapturedEvent = 907,
  cudaErrorStreamCaptureWrongThread = 908,
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3
};
struct cudaPointerAttributes {
  cudaMemoryType type;
};
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2 };
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
enum cudaMemoryAdvise { cudaMemAdviseSetPreferredLocation = 3 };
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone = 0, cudaStreamCaptureStatusActive = 1 };
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaHostAllocDefault = 0;
constexpr unsigned cudaHostAllocMapped = 2;
constexpr unsigned cudaMemAttachGlobal = 1;

// Other libraries of the tests call these, too.
#pragma GCC visibility push(default)
namespace emulation {
class FakeStream;
class FakeEvent;
class FakeGraph;
class FakeGraphExec;
}  // namespace emulation
using cudaStream_t = emulation::FakeStream*;
using cudaEvent_t = emulation::FakeEvent*;
using cudaGraph_t = emulation::FakeGraph*;
using cudaGraphExec_t = emulation::FakeGraphExec*;

cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaMalloc(void** out, size_t bytes);
cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned flags = cudaMemAttachGlobal);
#if CUDART_VERSION >= 13000
cudaError_t cudaMemAdvise(const void* memory, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location);
cudaError_t cudaMemPrefetchAsync(const void* memory, size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream);
#else
cudaError_t cudaMemAdvise(const void* memory, size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemPrefetchAsync(const void* memory, size_t bytes, int device, cudaStream_t stream);
#endif
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* out);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);

namespace emulation {

// Queues work of a stream, in its capture where one is under way. For the fakes of the libraries, too.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);
// Queues work that waits for something outside of the device: it is tried again until it returns true.
cudaError_t enqueue_attempt(cudaStream_t stream, std::function<bool()> attempt);

}  // namespace emulation
#pragma GCC visibility pop

template <class T>
cudaError_t cudaFuncSetAttribute(T*, cudaFuncAttribute, int bytes) {
  return static_cast<size_t>(bytes) <= emulation::kSharedMemory ? cudaSuccess : cudaErrorInvalidValue;
}

// As CUDA does, copies the arguments before it returns.
template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                             cudaStream_t stream = nullptr) {
  if (grid.x == 0 || block.x == 0 || block.x * block.y * block.z > 1024 || shared > emulation::kSharedMemory) {
    return cudaErrorInvalidValue;
  }
  auto kept = [&]<size_t... i>(std::index_sequence<i...>) {
    return std::make_shared<std::tuple<Parameters...>>(*static_cast<Parameters*>(arguments[i])...);
  }
  (std::index_sequence_for<Parameters...>{});
  const emulation::Size3 blocks{grid.x, grid.y, grid.z};
  const emulation::Size3 threads{block.x, block.y, block.z};
  return emulation::enqueue(stream,
                            [=] { emulation::run_grid(blocks, threads, shared, [&] { std::apply(kernel, *kept); }); });
}
