// Copies of host memory on a device, for tests that make the same kernel call on the CPU and on a GPU. Used from one
// thread.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "backend/device.h"
#include "backend/kernels/kernels.h"
#include "host_tensor.h"

namespace halftone {

class DeviceCopies {
 public:
  explicit DeviceCopies(Device& device) : device_(device) {}
  ~DeviceCopies() {
    for (const Copy& copy : copies_) device_.deallocate(copy.device, copy.bytes);
  }
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  Stream& stream() { return device_.stream(); }
  const Kernels& kernels() { return device_.kernels(); }

  // Returns the copy of `count` elements, which fetch writes back to where they come from.
  template <class T>
  T* send(T* host, size_t count) {
    return static_cast<T*>(send_bytes(host, count * sizeof(T)));
  }
  // As the first form, but nothing is written back.
  template <class T>
  T* lend(const T* host, size_t count) {
    T* const there = static_cast<T*>(send_bytes(const_cast<T*>(host), count * sizeof(T)));
    copies_.back().is_lent = true;
    return there;
  }
  // A view of the copy of all bytes of a tensor; its guards go along.
  View send(const HostTensor& tensor) {
    auto* first = const_cast<std::byte*>(tensor.bytes().data());
    View view = tensor.view();
    view.data = static_cast<std::byte*>(send_bytes(first, tensor.bytes().size())) +
                (static_cast<std::byte*>(tensor.data()) - first);
    return view;
  }
  // The address on the device of memory that was sent; null stays null.
  template <class T>
  T* at(T* host) const {
    const auto* byte = static_cast<const std::byte*>(static_cast<const void*>(host));
    for (const Copy& copy : copies_) {
      const std::ptrdiff_t offset = byte - copy.host;
      if (host == nullptr || offset < 0 || offset >= static_cast<std::ptrdiff_t>(copy.bytes)) continue;
      return reinterpret_cast<T*>(copy.device + offset);
    }
    EXPECT_EQ(host, nullptr) << "this memory was not sent";
    return nullptr;
  }

  // Waits for the device and writes all copies back.
  Status fetch() {
    for (const Copy& copy : copies_) {
      if (copy.is_lent) continue;
      const Status status = device_.copy_to_host(stream(), copy.host, copy.device, copy.bytes);
      if (!status.ok()) return status;
    }
    return stream().synchronize();
  }

 private:
  struct Copy {
    std::byte* host;
    std::byte* device;
    size_t bytes;
    bool is_lent = false;
  };

  void* send_bytes(void* host, size_t bytes) {
    void* there = nullptr;
    EXPECT_TRUE(device_.allocate(bytes > 0 ? bytes : 1, &there).ok());
    EXPECT_TRUE(device_.copy_from_host(stream(), there, host, bytes).ok());
    copies_.push_back({static_cast<std::byte*>(host), static_cast<std::byte*>(there), bytes});
    return there;
  }

  Device& device_;
  std::vector<Copy> copies_;
};

}  // namespace halftone
