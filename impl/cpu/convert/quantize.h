// ConvertKernels::abs_max, quantize and quantize_scale.
#pragma once

#include <atomic>
#include <cstdint>

#include "backend/device.h"
#include "backend/view.h"

namespace halftone::cpu {

Status abs_max(Stream& stream, const View& in, const View& out) noexcept;
Status quantize(Stream& stream, const View& in, const View& scale, const View& amax, const View& out) noexcept;
Status quantize_scale(Stream& stream, const View& amax, double largest, const View& out) noexcept;

// Raises `most` to `bits`. The order of calls does not matter, so that threads may share it.
inline void raise(std::atomic<uint32_t>& most, uint32_t bits) noexcept {
  uint32_t seen = most.load(std::memory_order_relaxed);
  while (seen < bits && !most.compare_exchange_weak(seen, bits, std::memory_order_relaxed)) {
  }
}

}  // namespace halftone::cpu
