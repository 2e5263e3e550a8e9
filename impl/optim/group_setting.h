// The numbers of an optimizer's groups by name: the values that each may have, and a place in the rule's group. The C
// API checks options by them, and a checkpoint saves them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace halftone::optim {

enum class Bounds { kNotNegative, kNotPositive, kAboveZero, kAtLeastOne, kFraction, kUnit, kFlag };

// Updates compute in FP32, where a larger number is an infinity.
inline bool fits_fp32(double value) noexcept { return std::fabs(value) <= std::numeric_limits<float>::max(); }

// NaN fails every comparison, so it is within no bounds.
inline bool is_within(double value, Bounds bounds) noexcept {
  switch (bounds) {
    case Bounds::kNotNegative:
      return fits_fp32(value) && value >= 0.0;
    case Bounds::kNotPositive:
      return fits_fp32(value) && value <= 0.0;
    case Bounds::kAboveZero:
      return fits_fp32(value) && static_cast<float>(value) > 0.0F;  // a smaller number is 0 there
    case Bounds::kAtLeastOne:
      return fits_fp32(value) && value >= 1.0;
    case Bounds::kFraction:
      return value >= 0.0 && value < 1.0;
    case Bounds::kUnit:
      return value >= 0.0 && value <= 1.0;
    case Bounds::kFlag:
      return value == 0.0 || value == 1.0;
  }
  return false;
}

// For messages: "lr=-1, expected a finite number of at least 0 in FP32".
inline const char* text_of(Bounds bounds) noexcept {
  switch (bounds) {
    case Bounds::kNotNegative:
      return "a finite number of at least 0 in FP32";
    case Bounds::kNotPositive:
      return "a finite number of at most 0 in FP32";
    case Bounds::kAboveZero:
      return "a finite number above 0 in FP32";
    case Bounds::kAtLeastOne:
      return "a finite number of at least 1 in FP32";
    case Bounds::kFraction:
      return "a number in [0, 1)";
    case Bounds::kUnit:
      return "a number in [0, 1]";
    case Bounds::kFlag:
      return "0 or 1";
  }
  return "";
}

// One number of a group. A rule lists all, in the order of its options.
template <class Group>
struct GroupSetting {
  constexpr GroupSetting(const char* setting, double Group::*place, Bounds range)
      : name(setting), bounds(range), number(place) {}
  constexpr GroupSetting(const char* setting, int32_t Group::*place)
      : name(setting), bounds(Bounds::kFlag), flag(place) {}

  double of(const Group& group) const noexcept { return number != nullptr ? group.*number : group.*flag; }
  void put(Group& group, double value) const noexcept {
    if (number != nullptr) {
      group.*number = value;
    } else {
      group.*flag = static_cast<int32_t>(value);
    }
  }

  const char* name;
  Bounds bounds;
  double Group::*number = nullptr;
  int32_t Group::*flag = nullptr;
};

}  // namespace halftone::optim
