// The status that each rank sends with a backward: its state, and a digest of the settings of its step. In a bucket of
// gradients it is a few numbers, small enough that the sum over ranks of one and zeros is exact in 16 bits, also where
// it was divided by the number of ranks.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace halftone::parallel {

// The state of a rank in a backward, as bits.
inline constexpr int32_t kMissing = 1;    // parameters without a gradient
inline constexpr int32_t kFailed = 2;     // backward threw
inline constexpr int32_t kNotFinite = 4;  // a gradient of a scaled loss has an infinity or NaN

struct RankStatus {
  int32_t state = 0;
  uint32_t digest = 0;  // 24 bits; 0: nothing to compare

  static constexpr size_t kNumbers = 5;
  using Numbers = std::array<float, kNumbers>;

  Numbers numbers() const noexcept {
    Numbers numbers = {static_cast<float>(state)};
    for (size_t i = 1; i < kNumbers; ++i) numbers[i] = static_cast<float>(digest >> kBits * (i - 1) & kMask);
    return numbers;
  }
  // `numbers` were divided by `factor` before they were sent.
  static RankStatus of(const float* numbers, int32_t factor) noexcept {
    const auto whole = [&](size_t i) { return std::lround(numbers[i] * static_cast<float>(factor)); };
    RankStatus status = {.state = static_cast<int32_t>(whole(0)), .digest = 0};
    for (size_t i = 1; i < kNumbers; ++i) status.digest |= static_cast<uint32_t>(whole(i)) << kBits * (i - 1);
    return status;
  }

  int64_t packed() const noexcept { return int64_t{digest} << kStateBits | state; }
  static RankStatus unpacked(int64_t packed) noexcept {
    return {.state = static_cast<int32_t>(packed & ((1 << kStateBits) - 1)),
            .digest = static_cast<uint32_t>(packed >> kStateBits)};
  }

 private:
  static constexpr uint32_t kBits = 6;
  static constexpr uint32_t kMask = (1u << kBits) - 1;
  static constexpr int kStateBits = 8;
};

}  // namespace halftone::parallel
