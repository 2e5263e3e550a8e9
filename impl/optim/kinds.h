// The kinds of optimizers, and their groups by the numbers of their settings. For callers that have the kind as a
// value.
#pragma once

#include <cstdint>
#include <span>

#include "optim/group_setting.h"
#include "optim/optimizer.h"

namespace halftone::optim {

// Must match htone_optimizer_kind in capi/include/halftone/optimizer.h.
enum class Kind : int32_t { kAdamW = 1, kAdam = 2, kSgd = 3, kLion = 4, kRmsprop = 5, kAdafactor = 6 };

// A setting of a group without its place in the rule's structure.
struct SettingRange {
  const char* name;
  Bounds bounds;
};

// The numbers of a group, in an order that belongs to the kind.
std::span<const SettingRange> settings_of(Kind kind) noexcept;
// As Optimizer::kind() returns it: "adamw".
const char* name_of(Kind kind) noexcept;
Kind kind_of(const Optimizer& optimizer) noexcept;

// REQUIRES of all: numbers that are within their bounds, as many as settings_of the kind, and a group that exists.
// They throw as those of GroupedOptimizer.
Ref<Optimizer> make_optimizer(Kind kind, const ParameterGroup& group, std::span<const double> numbers);
void add_group(Optimizer& optimizer, const ParameterGroup& group, std::span<const double> numbers);
void set_group(Optimizer& optimizer, size_t index, std::span<const double> numbers);

}  // namespace halftone::optim
