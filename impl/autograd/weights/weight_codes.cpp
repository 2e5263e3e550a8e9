#include "autograd/weights/weight_codes.h"

#include <utility>

namespace halftone {

WeightCodes KeptCodes::find(uint64_t key, uint64_t version) const {
  const std::lock_guard lock(mutex_);
  for (const WeightCodes& each : kept_) {
    if (each.codes.defined() && each.key == key && each.version == version) return each;
  }
  return {};
}

void KeptCodes::keep(WeightCodes made) {
  const std::lock_guard lock(mutex_);
  const auto is_replaced = [&](const WeightCodes& each) {
    return each.version != made.version || each.key == made.key;
  };
  for (WeightCodes& each : kept_) {
    if (is_replaced(each)) each = {};
  }
  if (kept_.front().codes.defined()) kept_.back() = std::move(kept_.front());
  kept_.front() = std::move(made);
}

void KeptCodes::clear() noexcept { kept_ = {}; }

}  // namespace halftone
