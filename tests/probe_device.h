// A device that passes every call on to the real one of a ContextDevice, which it replaces while it lives. Counts the
// kernels that are looked up, which is one for each launch, and the downloads, for which the caller waits. Its table of
// kernels may be changed. Used by one thread.
#pragma once

#include "backend/kernels/kernels.h"
#include "runtime/context.h"

namespace halftone {

class ProbeDevice final : public Device {
 public:
  explicit ProbeDevice(ContextDevice& entry) : entry_(entry), own_(*entry.device), table_(own_.kernels()) {
    entry_.device = this;
  }
  ~ProbeDevice() { entry_.device = &own_; }
  ProbeDevice(const ProbeDevice&) = delete;
  ProbeDevice& operator=(const ProbeDevice&) = delete;

  Kernels& table() noexcept { return table_; }
  int launches() const noexcept { return launches_; }
  int downloads() const noexcept { return downloads_; }

  void destroy() noexcept override { own_.destroy(); }
  DeviceKind kind() const noexcept override { return own_.kind(); }
  const char* name() const noexcept override { return own_.name(); }
  int32_t index() const noexcept override { return own_.index(); }
  Status allocate(size_t bytes, void** out) noexcept override { return own_.allocate(bytes, out); }
  void deallocate(void* memory, size_t bytes) noexcept override { own_.deallocate(memory, bytes); }
  bool host_accessible() const noexcept override { return own_.host_accessible(); }
  Status allocate_pinned(size_t bytes, void** out) noexcept override { return own_.allocate_pinned(bytes, out); }
  void deallocate_pinned(void* memory, size_t bytes) noexcept override { own_.deallocate_pinned(memory, bytes); }
  Stream& stream() noexcept override { return own_.stream(); }
  Status create_stream(Stream** out) noexcept override { return own_.create_stream(out); }
  Status create_event(Event** out) noexcept override { return own_.create_event(out); }
  Status copy_from_host(Stream& stream, void* device, const void* host, size_t bytes) noexcept override {
    return own_.copy_from_host(stream, device, host, bytes);
  }
  Status copy_to_host(Stream& stream, void* host, const void* device, size_t bytes) noexcept override {
    ++downloads_;
    return own_.copy_to_host(stream, host, device, bytes);
  }
  const Kernels& kernels() const noexcept override {
    ++launches_;
    return table_;
  }

 private:
  ContextDevice& entry_;
  Device& own_;
  Kernels table_;
  mutable int launches_ = 0;
  int downloads_ = 0;
};

}  // namespace halftone
