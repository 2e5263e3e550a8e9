#include <algorithm>

#include "backend/formula/scaling.h"
#include "cpu/scaled/entries.h"

namespace halftone::cpu {

Status advance_history(Stream&, const HistoryRule& rule, const View& history, const View& scale) noexcept {
  float* const magnitudes = static_cast<float*>(history.data);
  const int64_t length = history.numel(), counted = rule.takes_newest ? 1 : length;
  uint32_t most = 0;
  for (int64_t i = 0; i < counted; ++i) most = larger_finite(most, magnitudes[i]);
  if (most != 0) {
    *static_cast<float*>(scale.data) = history_scale(most, largest_of(rule.format), rule.factor);
  }
  std::copy_backward(magnitudes, magnitudes + length - 1, magnitudes + length);
  magnitudes[0] = 0;
  return {};
}

}  // namespace halftone::cpu
