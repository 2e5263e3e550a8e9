// The checked options of a sampler. Used by the sources that make samplers.
#pragma once

#include "base/arguments.h"
#include "data/sampler.h"
#include "halftone/data.h"

namespace halftone::capi {

inline data::SamplerOptions sampler_options(const htone_sampler_options* options) {
  const htone_sampler_options given =
      options_or_default(&require(options, "options"), htone_sampler_options(HTONE_SAMPLER_OPTIONS_INIT));
  return {.count = given.count,
          .batch_size = given.batch_size,
          .seed = given.seed,
          .rank = given.rank,
          .world_size = given.world_size,
          .shuffle = given.shuffle != 0,
          .drop_last = given.drop_last != 0};
}

}  // namespace halftone::capi
