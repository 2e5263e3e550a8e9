// Memory that the allocator of a device hands out, and the purpose that it is counted for. Plain values: storages and
// owners of memory keep them, and runtime/allocator.h makes and takes them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone {

// The purpose of an allocation; each is counted apart. Must match the HTONE_MEMORY_... constants in
// capi/include/halftone/device.h.
enum class Category : int32_t {
  kOther,
  kParameters,
  kGradients,
  kOptimizer,
  kActivations,
  kCommunication,
  kWorkspace,
};
inline constexpr int kCategoryCount = 7;

// A piece of device memory; empty for zero bytes.
struct Allocation {
  void* data = nullptr;
  void* block = nullptr;  // the allocator's own record
  size_t size = 0;        // requested bytes
  Category category = Category::kOther;
  uint32_t recordings : 31 = 0;  // that had begun when it was allocated
  uint32_t is_recorded : 1 = 0;  // of the pool of the last of these, not of the common one
};

}  // namespace halftone
