// Handles of samplers and of sources of batches.
#pragma once

#include "base/objects.h"

struct htone_batches;
struct htone_sampler;

namespace halftone::data {
class Sampler;  // data/sampler.h
class Batches;  // data/batches.h
}  // namespace halftone::data

namespace halftone::capi {

template <>
struct HandleTraits<htone_sampler> : HandleTo<Ref<data::Sampler>, HandleType::kSampler> {};
template <>
struct HandleTraits<htone_batches> : HandleTo<Ref<data::Batches>, HandleType::kBatches> {};

}  // namespace halftone::capi
