// Swap space in host memory, which the device reads and writes directly.
#pragma once

#include "offload/swap_space.h"
#include "runtime/context.h"

namespace halftone::offload {

class HostSpace final : public SwapSpace {
 public:
  explicit HostSpace(ContextDevice& device) : context_(Ref<Context>::share(device.context)), device_(device) {}

  std::unique_ptr<SwapSlot> make_slot(size_t bytes) override;

 private:
  const Ref<Context> context_;  // keeps device_ alive
  ContextDevice& device_;
};

}  // namespace halftone::offload
