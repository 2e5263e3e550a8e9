// A list of plain structs that kernels read, such as the slots of a multi-tensor list: kept in host memory, and
// uploaded to the device when it changes. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/factory.h"

namespace halftone::optim {

template <class Element>
class DeviceArray {
 public:
  static_assert(std::is_trivially_copyable_v<Element>);

  DeviceArray() = default;
  // Throws OUT_OF_MEMORY.
  DeviceArray(ContextDevice& device, std::vector<Element> elements) : host_(std::move(elements)) {
    memory_ = from_host(device, DType::kU8, {bytes()}, host_.data(), Category::kWorkspace);
  }

  const std::vector<Element>& host() const noexcept { return host_; }
  int64_t size() const noexcept { return static_cast<int64_t>(host_.size()); }
  const Element* device() const noexcept {
    return memory_.defined() ? static_cast<const Element*>(memory_.data()) : nullptr;
  }

  // Changes elements in place. Kernels that were launched before see the former ones.
  template <class Change>
  void change(Change&& change) {
    change_on_host(change);
    upload();
  }
  // The two parts of change(), for a caller whose device takes no host memory until later.
  template <class Change>
  void change_on_host(Change&& change) {
    change(host_);
  }
  void upload() { write_from_host(memory_, DType::kU8, host_.data()); }

 private:
  int64_t bytes() const noexcept { return static_cast<int64_t>(host_.size() * sizeof(Element)); }

  std::vector<Element> host_;
  Tensor memory_;
};

}  // namespace halftone::optim
