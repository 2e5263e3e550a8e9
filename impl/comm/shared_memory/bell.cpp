#include "comm/shared_memory/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace halftone {
namespace {

// Between processes, so without FUTEX_PRIVATE_FLAG.
long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) noexcept {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

// Sequentially consistent: either this rank sees that the owner sleeps, or the owner sees that the bell has rung.
void ring(SegmentControl& control) noexcept {
  control.bell.fetch_add(1, std::memory_order_seq_cst);
  if (control.is_asleep.load(std::memory_order_seq_cst) != 0) futex(control.bell, FUTEX_WAKE, INT_MAX, nullptr);
}

uint32_t listen(const SegmentControl& control) noexcept { return control.bell.load(std::memory_order_seq_cst); }

bool sleep(SegmentControl& control, uint32_t heard, std::chrono::nanoseconds longest) noexcept {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec timeout = {.tv_sec = longest.count() / kSecond, .tv_nsec = longest.count() % kSecond};
  control.is_asleep.store(1, std::memory_order_seq_cst);
  const long result = futex(control.bell, FUTEX_WAIT, heard, &timeout);
  const bool has_rung = result == 0 || errno != ETIMEDOUT;
  control.is_asleep.store(0, std::memory_order_relaxed);
  return has_rung;
}

}  // namespace halftone
