// How many processors this process may use.
#pragma once

namespace halftone {

// The number of CPUs in the process's affinity mask; at least 1.
int allowed_cpus() noexcept;

}  // namespace halftone
