// The one place that names process groups: the built-in ones, and those of loaded plugins. Safe from any thread.
#pragma once

#include "comm/owned.h"
#include "runtime/context.h"

namespace halftone {

// "single", "threads", or a kind that a plugin of the context serves. Throws INVALID_ARGUMENT for a rank outside the
// group, a size or timeout that is not positive, and a missing device; UNSUPPORTED for a kind that nobody serves; and
// the kind's own errors.
OwnedGroup create_group(const char* kind, const Context& context, const GroupOptions& options);

// A store for ranks that are threads of this process. Throws OUT_OF_MEMORY.
OwnedStore create_store();

}  // namespace halftone
