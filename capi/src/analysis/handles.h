// Handles of records of runs.
#pragma once

#include "base/objects.h"

struct htone_statistics;

namespace halftone::analysis {
class Statistics;  // analysis/statistics/statistics.h
}  // namespace halftone::analysis

namespace halftone::capi {

template <>
struct HandleTraits<htone_statistics> : HandleTo<Ref<analysis::Statistics>, HandleType::kStatistics> {};

}  // namespace halftone::capi
