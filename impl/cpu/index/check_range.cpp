#include <cinttypes>

#include "backend/geometry/place_text.h"
#include "cpu/device.h"
#include "cpu/index/entries.h"
#include "cpu/simd/ranges.h"
#include "cpu/threads/first_fault.h"

namespace halftone::cpu {

Status check_range(Stream& stream, const char* name, const View& indices, int64_t bound) noexcept {
  const auto* values = static_cast<const int64_t*>(indices.data);
  FirstFault first;
  for_each_range(pool_of(stream), indices.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (values[i] < 0 || values[i] >= bound) return first.add(i);
    }
  });
  if (!first.any()) return {};
  const int64_t i = first.place();
  return Status::failure(Code::kInvalidArgument, "%s%s=%" PRId64 " is outside [0, %" PRId64 ")", name,
                         PlaceText(indices.shape, i).text, values[i], bound);
}

}  // namespace halftone::cpu
