// Combines per-channel values with ranges of elements: every `spatial` consecutive elements in row-major order belong
// to one channel. For kernel files that Highway compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_NORM_CHANNELS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_NORM_CHANNELS_H
#undef HALFTONE_CPU_NORM_CHANNELS_H
#else
#define HALFTONE_CPU_NORM_CHANNELS_H
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/rows/pairwise.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Elements [offset, offset + count); offset 0 is the beginning of channel 0.
struct Stretch {
  int64_t offset;
  int64_t count;
  int64_t spatial;
};

// Calls f(first, last, channel) for the elements of each channel, counted from the beginning of the stretch.
template <class F>
HWY_INLINE void for_each_channel(const Stretch& stretch, F&& f) {
  for (int64_t first = 0; first < stretch.count;) {
    const int64_t channel = (stretch.offset + first) / stretch.spatial;
    const int64_t last = std::min(stretch.count, (channel + 1) * stretch.spatial - stretch.offset);
    f(first, last, channel);
    first = last;
  }
}

// Calls f(i, values[channel of i]) for every element.
template <class C, class F>
HWY_INLINE void with_channel_values(const Stretch& stretch, const C* HWY_RESTRICT values, F&& f) {
  if (stretch.spatial == 1) {
    const C* HWY_RESTRICT own = values + stretch.offset;
    for (int64_t i = 0; i < stretch.count; ++i) f(i, own[i]);
    return;
  }
  for_each_channel(stretch, [&](int64_t first, int64_t last, int64_t channel) {
    const C value = values[channel];
    for (int64_t i = first; i < last; ++i) f(i, value);
  });
}

template <class C>
HWY_INLINE void multiply_by_channel(const Stretch& stretch, const C* values, C* HWY_RESTRICT tile) {
  with_channel_values(stretch, values, [tile](int64_t i, C value) { tile[i] *= value; });
}

template <class C>
HWY_INLINE void add_by_channel(const Stretch& stretch, const C* values, C* HWY_RESTRICT tile) {
  with_channel_values(stretch, values, [tile](int64_t i, C value) { tile[i] += value; });
}

// sums[channel of i] += terms[i]
template <class C>
HWY_INLINE void sum_by_channel(const Stretch& stretch, const C* HWY_RESTRICT terms, C* HWY_RESTRICT sums) {
  if (stretch.spatial == 1) {
    C* HWY_RESTRICT own = sums + stretch.offset;
    for (int64_t i = 0; i < stretch.count; ++i) own[i] += terms[i];
    return;
  }
  for_each_channel(stretch, [&](int64_t first, int64_t last, int64_t channel) {
    sums[channel] += sum_of_block<C>(last - first, [=](int64_t i) { return terms[first + i]; });
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_NORM_CHANNELS_H
