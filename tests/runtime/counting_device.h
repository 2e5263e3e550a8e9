// A device over malloc that counts requests and fails on demand.
#pragma once

#include <atomic>
#include <cstdlib>

#include "backend/device.h"
#include "backend/kernels/kernels.h"

namespace halftone {

class CountingDevice final : public Device, private Stream {
 public:
  void destroy() noexcept override {}  // as a device and as a stream
  DeviceKind kind() const noexcept override { return DeviceKind::kOther; }
  const char* name() const noexcept override { return "counting:0"; }
  int32_t index() const noexcept override { return 0; }

  Status allocate(size_t bytes, void** out) noexcept override {
    ++requests_;
    if (bytes > capacity_ - taken_) return Status::failure(Code::kOutOfMemory, "the capacity is reached");
    const int64_t until = calls_until_failure_--;
    if (until == 0 || (until < 0 && fails_for_ever_)) return Status::failure(failure_, "told to fail");
    *out = std::aligned_alloc(4096, bytes);
    taken_ += bytes;
    ++blocks_;
    return {};
  }
  void deallocate(void* memory, size_t bytes) noexcept override {
    std::free(memory);
    taken_ -= bytes;
    --blocks_;
  }
  bool host_accessible() const noexcept override { return true; }

  Status allocate_pinned(size_t, void**) noexcept override {
    return Status::failure(Code::kUnsupported, "none pinned");
  }
  void deallocate_pinned(void*, size_t) noexcept override {}

  Stream& stream() noexcept override { return *this; }
  Status create_stream(Stream**) noexcept override { return Status::failure(Code::kUnsupported, "no other stream"); }
  Status create_event(Event**) noexcept override { return Status::failure(Code::kUnsupported, "no events"); }
  Status copy_from_host(Stream&, void*, const void*, size_t) noexcept override { return {}; }
  Status copy_to_host(Stream&, void*, const void*, size_t) noexcept override { return {}; }
  const Kernels& kernels() const noexcept override { return kernels_; }

  // The `call`-th request from now on (counted from 0) fails with `code`; with `for_ever`, so do all later ones.
  void fail_at(int64_t call, bool for_ever = false, Code code = Code::kOutOfMemory) {
    calls_until_failure_ = call;
    fails_for_ever_ = for_ever;
    failure_ = code;
  }
  void never_fail() {
    calls_until_failure_ = INT64_MAX;
    fails_for_ever_ = false;
  }
  void set_capacity(size_t bytes) { capacity_ = bytes; }

  size_t taken() const { return taken_; }
  int blocks() const { return blocks_; }
  int requests() const { return requests_; }

 private:
  Status synchronize() noexcept override { return {}; }

  std::atomic<size_t> taken_{0};
  std::atomic<int> blocks_{0};
  std::atomic<int> requests_{0};
  std::atomic<int64_t> calls_until_failure_{INT64_MAX};
  bool fails_for_ever_ = false;
  Code failure_ = Code::kOutOfMemory;
  size_t capacity_ = SIZE_MAX;
  Kernels kernels_ = {};
};

}  // namespace halftone
