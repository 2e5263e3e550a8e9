// The number of CPUs that the process's control groups allow, for the width of the thread pool.
#pragma once

#include "core/io.h"

namespace halftone {

// The smallest CPU quota of the process's cgroup (version 2 or 1) and its parents, rounded up to whole CPUs; 0 if there
// is no quota or the files cannot be parsed.
int cpu_quota(const Io& io) noexcept;

}  // namespace halftone
