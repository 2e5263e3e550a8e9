// A rank's sleep until another rank has news for it. The ringing rank makes a system call only if the owner sleeps.
#pragma once

#include <chrono>
#include <cstdint>

#include "comm/shared_memory/layout.h"

namespace halftone {

// Ranks that wait look this often if the others' processes still run.
inline constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::milliseconds(50);

// Comes after the change that the owner may wait for. Safe from any thread of any rank.
void ring(SegmentControl& control) noexcept;

// For the owner: the value that sleep() takes. Comes before the look at what the owner waits for.
uint32_t listen(const SegmentControl& control) noexcept;

// Returns when the bell has rung since `heard`, and after `longest` at the latest: then it returns false.
bool sleep(SegmentControl& control, uint32_t heard, std::chrono::nanoseconds longest) noexcept;

}  // namespace halftone
