// Handles of state dicts.
#pragma once

#include "base/objects.h"
#include "tensor/state_dict.h"

struct htone_state_dict;

namespace halftone::capi {

template <>
struct HandleTraits<htone_state_dict> : HandleTo<Ref<SharedStateDict>, HandleType::kStateDict> {};

template <>
struct ObjectAccess<Ref<SharedStateDict>> {
  static StateDict& value(const Ref<SharedStateDict>& shared) noexcept { return shared->state; }
  static void require_usable(const Ref<SharedStateDict>&, ArgumentName) noexcept {}
};

}  // namespace halftone::capi
