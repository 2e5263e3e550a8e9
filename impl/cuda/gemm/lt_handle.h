// The handle of cuBLASLt for one device.
#pragma once

namespace halftone::cuda {

class LtHandle {
 public:
  explicit LtHandle(int device) noexcept : device_(device) {}
  int device() const noexcept { return device_; }

 private:
  int device_;
};

}  // namespace halftone::cuda
