// Handles of autocast policies.
#pragma once

#include "base/objects.h"

struct htone_autocast_policy;

namespace halftone {
class AutocastPolicy;  // ops/dispatch/autocast.h
}

namespace halftone::capi {

template <>
struct HandleTraits<htone_autocast_policy> : HandleTo<Ref<AutocastPolicy>, HandleType::kAutocastPolicy> {};

}  // namespace halftone::capi
