// Handles of scaled tensors.
#pragma once

#include "base/objects.h"
#include "ops/scaled/saved_scaled.h"

struct htone_scaled;

namespace halftone::capi {

struct SharedScaled final : RefCounted {
  explicit SharedScaled(ops::ShapedScaled given) : value(std::move(given)) {}
  const ops::ShapedScaled value;
};

template <>
struct HandleTraits<htone_scaled> : HandleTo<Ref<SharedScaled>, HandleType::kScaled> {};

template <>
struct ObjectAccess<Ref<SharedScaled>> {
  static const ops::ShapedScaled& value(const Ref<SharedScaled>& shared) noexcept { return shared->value; }
  static void require_usable(const Ref<SharedScaled>&, ArgumentName) noexcept {}
};

}  // namespace halftone::capi
