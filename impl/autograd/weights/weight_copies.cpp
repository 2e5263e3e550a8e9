#include "autograd/weights/weight_copies.h"

#include <algorithm>
#include <utility>

namespace halftone {

void WeightCopies::set(Place& place, WeightCopy copy) noexcept {
  place.copy = std::move(copy);
  place.leaf.reset();
}

void WeightCopies::set_updated(Tensor data, uint64_t version) noexcept {
  const DType format = data.defined() ? data.dtype() : DType::kF32;
  set(places_[0], {.format = format, .data = std::move(data), .scales = {}, .version = version});
}

bool WeightCopies::keep(WeightCopy copy) noexcept {
  drop(copy.format);
  const auto free =
      std::find_if(places_.begin() + 1, places_.end(), [](const Place& place) { return !place.copy.data.defined(); });
  if (free == places_.end()) return false;
  set(*free, std::move(copy));
  return true;
}

void WeightCopies::drop(DType format) noexcept {
  for (size_t i = 1; i < places_.size(); ++i) {
    if (places_[i].copy.format == format) set(places_[i], {});
  }
}

void WeightCopies::clear() noexcept {
  for (Place& place : places_) set(place, {});
}

const WeightCopy* WeightCopies::find(DType format) const noexcept {
  for (const Place& place : places_) {
    if (place.copy.data.defined() && place.copy.format == format) return &place.copy;
  }
  return nullptr;
}

const WeightCopies::Place* WeightCopies::place_of_values(DType format, uint64_t version) const noexcept {
  for (const Place& place : places_) {
    const WeightCopy& copy = place.copy;
    const bool has_values = copy.data.defined() && !copy.scales.defined();
    if (has_values && copy.format == format && copy.version == version) return &place;
  }
  return nullptr;
}

const Tensor* WeightCopies::values(DType format, uint64_t version) const noexcept {
  const Place* place = place_of_values(format, version);
  return place != nullptr ? &place->copy.data : nullptr;
}

const Tensor* WeightCopies::leaf(DType format, uint64_t version, GradientSource& source) const {
  const Place* place = place_of_values(format, version);
  return place != nullptr ? &place->leaf.get(place->copy.data, source) : nullptr;
}

}  // namespace halftone
