#include "halftone/data.h"

#include <vector>

#include "arguments.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_sampler_options default_options() {
  htone_sampler_options options = {};
  options.struct_size = sizeof options;
  options.shuffle = 1;
  options.drop_last = 1;
  options.world_size = 1;
  return options;
}

}  // namespace

htone_status htone_sampler_options_init(htone_sampler_options* options) {
  return guard([&] { require(options, "options") = default_options(); });
}

htone_status htone_sampler_create(const htone_sampler_options* options, htone_sampler** out) {
  return guard([&] {
    const htone_sampler_options given = options_or_default(&require(options, "options"), default_options());
    wrap(out, make_ref<data::Sampler>(data::SamplerOptions{.count = given.count,
                                                           .batch_size = given.batch_size,
                                                           .seed = given.seed,
                                                           .rank = given.rank,
                                                           .world_size = given.world_size,
                                                           .shuffle = given.shuffle != 0,
                                                           .drop_last = given.drop_last != 0}));
  });
}

htone_status htone_sampler_retain(htone_sampler* sampler) {
  return guard([&] { retain_handle(sampler, "sampler"); });
}

htone_status htone_sampler_release(htone_sampler* sampler) {
  return guard([&] { release_handle(sampler, "sampler"); });
}

htone_status htone_sampler_batches_per_epoch(htone_sampler* sampler, int64_t* out_count) {
  return guard([&] {
    const data::Sampler& source = *unwrap(sampler, "sampler");
    require(out_count, "out_count") = source.batches_per_epoch();
  });
}

htone_status htone_sampler_position(htone_sampler* sampler, int64_t* out_epoch, int64_t* out_batch) {
  return guard([&] {
    const data::Sampler& source = *unwrap(sampler, "sampler");
    require(out_epoch, "out_epoch");
    require(out_batch, "out_batch");
    *out_epoch = source.epoch();
    *out_batch = source.batch();
  });
}

htone_status htone_sampler_next(htone_sampler* sampler, size_t capacity, int64_t* out_indices, size_t* out_count) {
  return guard([&] {
    data::Sampler& source = *unwrap(sampler, "sampler");
    require(out_indices, "out_indices");
    require(out_count, "out_count");
    const std::vector<int64_t>& indices = source.peek();
    *out_count = indices.size();
    if (capacity < indices.size()) {
      fail(Code::kBufferTooSmall, "capacity", "capacity=%zu, expected at least %zu", capacity, indices.size());
    }
    std::copy(indices.begin(), indices.end(), out_indices);
    source.advance();
  });
}

htone_status htone_batches_create(htone_sampler* sampler, size_t count, htone_tensor* const* tensors,
                                  htone_batches** out) {
  return guard([&] {
    const Ref<data::Sampler>& source = unwrap(sampler, "sampler");
    require(tensors, "tensors");
    std::vector<Tensor> sources;
    for (size_t i = 0; i < count; ++i) sources.push_back(unwrap(tensors[i], "tensors"));
    wrap(out, make_ref<data::Batches>(source, std::move(sources)));
  });
}

htone_status htone_batches_retain(htone_batches* batches) {
  return guard([&] { retain_handle(batches, "batches"); });
}

htone_status htone_batches_release(htone_batches* batches) {
  return guard([&] { release_handle(batches, "batches"); });
}

htone_status htone_batches_next(htone_batches* batches) {
  return guard([&] { unwrap(batches, "batches")->next(); });
}

htone_status htone_batches_get(htone_batches* batches, size_t index, htone_tensor** out) {
  return guard([&] {
    const data::Batches& source = *unwrap(batches, "batches");
    if (index >= source.count()) {
      fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, source.count());
    }
    require(out, "out");
    if (!source.get(index).defined())
      fail(Code::kState, "batches", "batches has no batch yet; call htone_batches_next");
    wrap(out, source.get(index).detach());
  });
}
