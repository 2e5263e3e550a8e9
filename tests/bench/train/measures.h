// Devices of benchmarks that compare steps, and what is measured of the steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <halftone/htone.hpp>
#include <vector>

namespace halftone::bench {

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

inline htone_memory_stats stats_of(const htone::Device& device) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  htone::call(htone_device_memory_stats, device, &stats);
  return stats;
}

// The CPU of a context of its own.
inline htone::Device device_with(int threads) {
  htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
  options.num_threads = threads;
  return htone::make<htone::Device>(htone_device_create, htone::make<htone::Context>(htone_context_create, &options),
                                    "cpu");
}

}  // namespace halftone::bench
