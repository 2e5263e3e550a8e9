// Tables of kernels made from one function for every entry: of a device that does something else with each call, such
// as keeping it for later.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone {

// The group that a table belongs to.
#define HALFTONE_GROUP_OF(Group, member) \
  constexpr auto group_of(const Group*) { return &Kernels::member; }
HALFTONE_KERNEL_GROUPS(HALFTONE_GROUP_OF)
#undef HALFTONE_GROUP_OF

// Every entry is Wrapper<&Group::entry>::run, of the entry's own type.
#define HALFTONE_WRAPPED_ROW(Group, entry) .entry = Wrapper<&Group::entry>::run,
template <template <auto> class Wrapper>
constexpr Kernels wrapped_kernels() {
  return {
      .convert = {HALFTONE_CONVERT_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .elementwise = {HALFTONE_ELEMENTWISE_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .reduce = {HALFTONE_REDUCE_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .gemm = {HALFTONE_GEMM_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .conv = {HALFTONE_CONV_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .pool = {HALFTONE_POOL_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .resample = {HALFTONE_RESAMPLE_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .norm = {HALFTONE_NORM_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .attention = {HALFTONE_ATTENTION_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .loss = {HALFTONE_LOSS_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .index = {HALFTONE_INDEX_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .select = {HALFTONE_SELECT_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .random = {HALFTONE_RANDOM_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .statistics = {HALFTONE_STATISTICS_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .optim = {HALFTONE_OPTIM_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .sequence = {HALFTONE_SEQUENCE_ENTRIES(HALFTONE_WRAPPED_ROW)},
      .scaled = {HALFTONE_SCALED_ENTRIES(HALFTONE_WRAPPED_ROW)},
  };
}
#undef HALFTONE_WRAPPED_ROW

}  // namespace halftone
