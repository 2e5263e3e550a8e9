// How many threads a context's pool has.
#pragma once

#include "core/io.h"

namespace halftone {

inline constexpr int kMaxThreads = 256;

// The CPUs of the process's affinity mask; at least 1.
int allowed_cpus() noexcept;

// `requested` where it is positive, else the environment variable HALFTONE_NUM_THREADS where it is a number in
// [1, kMaxThreads], else what affinity mask and CPU quota allow. At least 1, at most kMaxThreads.
int pool_width(int requested, const Io& io) noexcept;

}  // namespace halftone
