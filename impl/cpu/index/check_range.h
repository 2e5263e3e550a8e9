// Checks class indices before a kernel writes anything. Pure function, safe from any thread.
#pragma once

#include <cinttypes>

#include "backend/view.h"
#include "core/status.h"

namespace halftone::cpu {

// Returns INVALID_ARGUMENT for the first entry of an i64 vector outside [0, bound): "targets[5]=12 is outside [0, 10)".
// An entry equal to *except is allowed.
inline Status check_range(const char* name, const View& indices, int64_t bound,
                          const int64_t* except = nullptr) noexcept {
  const auto* values = static_cast<const int64_t*>(indices.data);
  const int64_t count = indices.shape[0];
  const int64_t stride = indices.strides[0];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = values[i * stride];
    if (except != nullptr && value == *except) continue;
    if (value < 0 || value >= bound) {
      return Status::failure(Code::kInvalidArgument, "%s[%" PRId64 "]=%" PRId64 " is outside [0, %" PRId64 ")", name, i,
                             value, bound);
    }
  }
  return {};
}

}  // namespace halftone::cpu
