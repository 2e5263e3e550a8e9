// The number of threads in a context's pool.
#pragma once

#include "core/io.h"

namespace halftone {

inline constexpr int kMaxThreads = 256;

// `requested` if it is positive; else the environment variable HALFTONE_NUM_THREADS if it is a number in [1,
// kMaxThreads]; else the number that affinity mask and CPU quota allow. At least 1, at most kMaxThreads.
int pool_width(int requested, const Io& io) noexcept;

}  // namespace halftone
