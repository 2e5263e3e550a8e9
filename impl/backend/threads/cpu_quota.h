// How many CPUs the process's control groups let it use, for the width of the thread pool.
#pragma once

#include "core/io.h"

namespace halftone {

// The smallest CPU quota of the process's cgroup (version 2 or 1) and its parents, rounded up to whole CPUs; 0 where
// there is none or where the files tell nothing sensible.
int cpu_quota(const Io& io) noexcept;

}  // namespace halftone
