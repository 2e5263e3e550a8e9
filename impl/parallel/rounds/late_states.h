// The states of the ranks after their backwards, on a device whose work is queued: a backward only queues their copy to
// pinned memory, so that no step waits for the device. A rank learns in a later backward that another one's has failed.
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "parallel/mesh/exchange.h"
#include "parallel/rounds/rank_status.h"

namespace halftone::parallel {

class LateStates {
 public:
  // True for devices whose work is queued.
  static bool suits(const ContextDevice& device) noexcept { return device.device->kind() == DeviceKind::kCuda; }

  LateStates(ContextDevice& device, int32_t rank, int32_t size) : device_(device), rank_(rank), size_(size) {}
  ~LateStates();
  LateStates(const LateStates&) = delete;
  LateStates& operator=(const LateStates&) = delete;

  // `states`: f32, RankStatus::kNumbers for each rank, divided by `factor`. `number` is that of the backward.
  void add(uint64_t number, const Tensor& states, int32_t factor);
  // Looks at the states that have arrived. Throws COMM that names a rank whose backward failed, or two whose settings
  // of the step differ, and STATE that names one that lacked gradients; this rank's own failures were thrown before.
  void check();

 private:
  struct Copy {
    float* states = nullptr;  // pinned
    Event* arrived = nullptr;
    uint64_t number = 0;
    int32_t factor = 1;
  };

  Copy make_copy();
  void require_success(const Copy& copy) const;
  void destroy(const Copy& copy) noexcept;
  size_t bytes() const noexcept { return static_cast<size_t>(size_) * sizeof(RankStatus::Numbers); }

  ContextDevice& device_;
  const int32_t rank_;
  const int32_t size_;
  std::deque<Copy> under_way_;
  std::vector<Copy> free_;
};

}  // namespace halftone::parallel
