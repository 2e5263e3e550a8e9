// The one place that names process groups and stores: the built-in ones, and those of loaded plugins. Safe from any
// thread.
#pragma once

#include "comm/group/owned.h"
#include "runtime/context.h"

namespace halftone {

// "single", "meta", "threads", "shared_memory", or a kind that a plugin of the context serves. Throws INVALID_ARGUMENT
// for a rank outside the group, a size or timeout that is not positive, and a missing device; UNSUPPORTED for a kind
// that no plugin serves; and the kind's own errors.
OwnedGroup create_group(const char* kind, const Context& context, const GroupOptions& options);

// "memory" (for ranks that are threads of this process), "file" (in a folder that all ranks share), or a kind that a
// plugin of the context serves. Throws UNSUPPORTED for a kind that no plugin serves, and the kind's own errors.
OwnedStore create_store(const char* kind, const Context& context, const StoreOptions& options);

}  // namespace halftone
