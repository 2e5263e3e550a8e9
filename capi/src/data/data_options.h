// The checked options of a sampler. Used by the sources that make samplers.
#pragma once

#include "base/arguments.h"
#include "data/sampler.h"

namespace halftone::capi {

inline htone_sampler_options default_sampler_options() {
  auto options = zero_options<htone_sampler_options>();
  options.shuffle = 1;
  options.drop_last = 1;
  options.world_size = 1;
  return options;
}

inline data::SamplerOptions sampler_options(const htone_sampler_options* options) {
  const htone_sampler_options given = options_or_default(&require(options, "options"), default_sampler_options());
  return {.count = given.count,
          .batch_size = given.batch_size,
          .seed = given.seed,
          .rank = given.rank,
          .world_size = given.world_size,
          .shuffle = given.shuffle != 0,
          .drop_last = given.drop_last != 0};
}

}  // namespace halftone::capi
