#include "offload/host_space.h"

#include <cstring>
#include <utility>

#include "core/error.h"

namespace halftone::offload {
namespace {

// Transfers are in the order of the stream, so that no thread waits for them.
class HostSlot final : public SwapSlot {
 public:
  HostSlot(Device& device, size_t bytes) : device_(device), bytes_(bytes) {
    if (bytes == 0) return;
    check(device_.allocate_pinned(bytes, &memory_));
    std::memset(memory_, 0, bytes);
  }
  ~HostSlot() override {
    if (memory_ != nullptr) device_.deallocate_pinned(memory_, bytes_);
  }

  void start_read(size_t begin, void* memory, size_t bytes) noexcept override {
    status_ = device_.copy_from_host(device_.stream(), memory, at(begin), bytes);
  }
  void start_write(size_t begin, const void* memory, size_t bytes) noexcept override {
    status_ = device_.copy_to_host(device_.stream(), at(begin), memory, bytes);
  }
  void wait() override { check(std::exchange(status_, Status{})); }

 private:
  char* at(size_t begin) const noexcept { return static_cast<char*>(memory_) + begin; }

  Device& device_;
  const size_t bytes_;
  void* memory_ = nullptr;
  Status status_;
};

}  // namespace

std::unique_ptr<SwapSlot> HostSpace::make_slot(size_t bytes) {
  return std::make_unique<HostSlot>(*device_.device, bytes);
}

}  // namespace halftone::offload
