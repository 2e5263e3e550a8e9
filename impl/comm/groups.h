// The built-in groups and their store, each defined in the folder of its kind. comm/registry.h creates groups by name.
#pragma once

#include "comm/process_group.h"
#include "comm/store.h"

namespace halftone {

// One rank: every operation copies, and is done when it returns.
Status create_single_group(const GroupOptions& options, ProcessGroup** out) noexcept;

// Ranks that are threads of one process, with memory that every thread can read. They find each other by store and
// name. Creation does not wait for the others.
Status create_threads_group(const GroupOptions& options, ProcessGroup** out) noexcept;

// A store for ranks of one process.
Status create_memory_store(KeyValueStore** out) noexcept;

}  // namespace halftone
