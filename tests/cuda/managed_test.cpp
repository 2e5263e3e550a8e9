// The functions of managed memory with the parameters that they had before CUDA 13.0. Their declarations are here,
// since the emulated header has those of 13.0.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

static_assert(CUDART_VERSION >= 13000);
#undef CUDART_VERSION
#define CUDART_VERSION 12040

namespace {

struct ManagedCall {
  int device = -1;
  size_t bytes = 0;
};
ManagedCall advised;
ManagedCall prefetched;

}  // namespace

static cudaError_t cudaMemAdvise(const void*, size_t bytes, cudaMemoryAdvise, int device) {
  advised = {.device = device, .bytes = bytes};
  return cudaSuccess;
}
static cudaError_t cudaMemPrefetchAsync(const void*, size_t bytes, int device, cudaStream_t) {
  prefetched = {.device = device, .bytes = bytes};
  return cudaSuccess;
}

#include "cuda/base/managed.h"

namespace halftone {
namespace {

TEST(ManagedMemory, IsAdvisedAndPrefetchedByTheFunctionsOfCuda12) {
  char memory[8];
  EXPECT_EQ(cuda::prefer_device(memory, sizeof memory, 1), cudaSuccess);
  EXPECT_EQ(advised.device, 1);
  EXPECT_EQ(advised.bytes, sizeof memory);
  EXPECT_EQ(cuda::prefetch_to_device(memory, sizeof memory, 2, nullptr), cudaSuccess);
  EXPECT_EQ(prefetched.device, 2);
  EXPECT_EQ(prefetched.bytes, sizeof memory);
}

}  // namespace
}  // namespace halftone
