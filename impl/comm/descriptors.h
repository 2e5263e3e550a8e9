// The advice for a process that may not open enough files for a group. Used by the kinds that open some for each rank.
#pragma once

#include <errno.h>
#include <sys/resource.h>

#include <cstdio>

#include "core/status.h"

namespace halftone {

// The store, the standard streams, what a kind opens once, and some of the embedding program.
inline constexpr int kSpareDescriptors = 16;

inline Status too_few_descriptors(int size, int for_each, const char* reason) noexcept {
  Status status =
      Status::failure(Code::kIo,
                      "a group of %d ranks takes %d descriptor%s for each other rank: %.60s; raise the "
                      "limit (ulimit -n) to %d at least",
                      size, for_each, for_each == 1 ? "" : "s", reason, size * for_each + kSpareDescriptors);
  status.native_code = EMFILE;
  return status;
}

// IO if the process may not have the descriptors that a group takes.
inline Status check_descriptors(int size, int for_each) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  if (limit.rlim_cur >= static_cast<rlim_t>(size * for_each + kSpareDescriptors)) return {};
  char reason[40];
  std::snprintf(reason, sizeof reason, "the limit is %llu", static_cast<unsigned long long>(limit.rlim_cur));
  return too_few_descriptors(size, for_each, reason);
}

}  // namespace halftone
