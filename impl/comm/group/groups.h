// The built-in groups and their store, each defined in the folder of its kind. comm/group/registry.h creates groups by
// name.
#pragma once

#include "comm/group/process_group.h"
#include "comm/store.h"

namespace halftone {

// One rank: every operation copies, and is done when it returns.
Status create_single_group(const GroupOptions& options, ProcessGroup** out) noexcept;
Status create_meta_group(const GroupOptions& options, ProcessGroup** out) noexcept;

// Ranks that are threads of one process, with memory that every thread can read. They find each other by store and
// name. Creation does not wait for the others.
Status create_threads_group(const GroupOptions& options, ProcessGroup** out) noexcept;

// Ranks that are processes of one user on one machine, or threads of such processes. They find each other by store and
// name, and exchange data through memory that they share; nothing of it has a name in a folder, so nothing is left when
// they end. Creation waits for the others, as long as an operation does. A rank whose process ends is noticed at once.
Status create_shared_memory_group(const GroupOptions& options, ProcessGroup** out) noexcept;

// A store for ranks of one process. The options name nothing that it needs.
Status create_memory_store(const StoreOptions& options, KeyValueStore** out) noexcept;

// A store in a folder of a file system that all ranks share. The address is its path; it is created, for this user
// alone, if its parent exists. Entries stay when the store is destroyed. Keys are at most about 80 to 250 bytes long,
// values 1 MiB. The errors of the file system are IO with errno.
Status create_file_store(const StoreOptions& options, KeyValueStore** out) noexcept;

}  // namespace halftone
