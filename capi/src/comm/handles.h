// Handles of groups, their stores and their operations.
#pragma once

#include "base/objects.h"

struct htone_group;
struct htone_store;

namespace halftone {
class SharedStore;  // comm/group/shared_store.h
class Group;        // comm/group/group.h
}  // namespace halftone

namespace halftone::capi {

template <>
struct HandleTraits<htone_store> : HandleTo<Ref<SharedStore>, HandleType::kStore> {};
template <>
struct HandleTraits<htone_group> : HandleTo<Ref<Group>, HandleType::kGroup> {};

}  // namespace halftone::capi
