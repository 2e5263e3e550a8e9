#include "parallel/shard/weight_scales.h"

#include <algorithm>
#include <utility>

#include "parallel/shard/flats/flat.h"
#include "parallel/shard/flats/flat_codes.h"
#include "tensor/factory.h"

namespace halftone::parallel {

template <class Function>
void WeightScales::for_each_unit(const Tensor& all, const Function& function) {
  int64_t begin = 0;
  for (WeightUnit& unit : units_) {
    const int64_t end = begin + static_cast<int64_t>(unit.coded_count());
    function(unit, range_of(all, begin, end));
    begin = end;
  }
}

// Ranks of other groups have the same weights. An empty shard has the magnitude 0, and a NaN wins.
void WeightScales::start() {
  finish();
  if (std::all_of(units_.begin(), units_.end(), [](const WeightUnit& unit) { return unit.has_scales(); })) return;
  int64_t count = 0;
  for (const WeightUnit& unit : units_) count += static_cast<int64_t>(unit.coded_count());
  magnitudes_ = full(exchange_.device(), DType::kF32, {count}, 0.0, Category::kCommunication);
  for_each_unit(magnitudes_, [](WeightUnit& unit, const Tensor& part) { unit.measure(part); });
  work_.emplace(
      exchange_.start_all_reduce(magnitudes_, ReduceOp::kMax, exchange_.options(Purpose::kScales, ++messages_)));
}

void WeightScales::finish() {
  std::optional<StartedWork> work = std::exchange(work_, std::nullopt);
  if (!work) return;
  work->wait();
  const Tensor scales = empty(exchange_.device(), DType::kF32, magnitudes_.shape(), Category::kCommunication);
  for (size_t i = 0; i < static_cast<size_t>(scales.numel()); ++i) {
    set_scale(element_of(magnitudes_, i), element_of(scales, i));
  }
  for_each_unit(scales, [](WeightUnit& unit, const Tensor& part) { unit.set_scales(part); });
  magnitudes_ = Tensor();
}

void WeightScales::reach(const WeightUnit& unit) {
  finish();
  if (unit.has_scales()) return;
  start();
  finish();
}

}  // namespace halftone::parallel
