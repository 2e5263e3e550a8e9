#include "backend/geometry/place_text.h"
#include "cpu/device.h"
#include "cpu/elementwise/entries.h"
#include "cpu/simd/ranges.h"
#include "cpu/threads/first_fault.h"

namespace halftone::cpu {

Status check_divisor(Stream& stream, const char* name, const View& divisor) noexcept {
  const auto* values = static_cast<const int64_t*>(divisor.data);
  FirstFault first;
  for_each_range(pool_of(stream), divisor.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (values[i] == 0) return first.add(i);
    }
  });
  if (!first.any()) return {};
  // Must match cuda/base/fault.cpp.
  return Status::failure(Code::kInvalidArgument, "%s%s is 0, and an integer divided by 0 has no value", name,
                         PlaceText(divisor.shape, first.place()).text);
}

}  // namespace halftone::cpu
