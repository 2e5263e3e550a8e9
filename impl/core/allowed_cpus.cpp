#include "core/allowed_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace halftone {

// sched_getaffinity fails on machines with more CPUs than cpu_set_t has bits: then count the CPUs that are online.
int allowed_cpus() noexcept {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(CPU_COUNT(&mask), 1);
  return static_cast<int>(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, 1L << 20));
}

}  // namespace halftone
