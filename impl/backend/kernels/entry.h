// A group of kernels names its entries once, in a list HALFTONE_..._ENTRIES(X) of X(Group, entry). A backend declares
// and lists a function of each entry's name and type with these macros; kernels.h gives the rules for every entry.
#pragma once

#include <type_traits>
#include <utility>

namespace halftone {

template <class Group, class Function>
Function* function_of(Function* Group::*);
// The type of the function that the pointer to member `entry` points to.
template <auto entry>
using EntryFunction = std::remove_pointer_t<decltype(function_of(entry))>;

}  // namespace halftone

// Declares the backend's function.
#define HALFTONE_DECLARE_ENTRY(Group, entry) ::halftone::EntryFunction<&::halftone::Group::entry> entry;
// Its row in the table of the group.
#define HALFTONE_ENTRY_ROW(Group, entry) .entry = entry,

// For HALFTONE_KERNEL_GROUPS of kernels.h: declares a backend's group k...Kernels, and makes its row in the table of
// all groups.
#define HALFTONE_DECLARE_GROUP(Group, member) extern const Group k##Group;
#define HALFTONE_GROUP_ROW(Group, member) .member = k##Group,
