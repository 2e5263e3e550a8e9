#include "halftone/data.h"

#include <algorithm>
#include <vector>

#include "base/call.h"
#include "data/batches.h"
#include "data/data_options.h"
#include "data/handles.h"
#include "data/sampler.h"
#include "runtime/handles.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

struct PositionResult {
  static constexpr int kParameters = 2;
  int64_t* out_epoch;
  int64_t* out_batch;

  void require(ArgumentName name) const {
    require_memory(out_epoch, name);
    require_memory(out_batch, name.next());
  }
  void give(const data::Sampler& sampler) const {
    *out_epoch = sampler.epoch();
    *out_batch = sampler.batch();
  }
};

// The sampler advances after the caller has the indices.
struct IndicesResult {
  static constexpr int kParameters = 3;
  int64_t* out_indices;
  size_t capacity;
  size_t* out_count;

  void require(ArgumentName name) const {
    require_memory(out_indices, name);
    require_memory(out_count, name.next().next());
  }
  void give(data::Sampler& sampler) const {
    const std::vector<int64_t>& indices = sampler.peek();
    *out_count = indices.size();
    if (capacity < indices.size()) {
      fail(Code::kBufferTooSmall, "capacity", "capacity=%zu, expected at least %zu", capacity, indices.size());
    }
    std::copy(indices.begin(), indices.end(), out_indices);
    sampler.advance();
  }
};

// `tensors` must not be NULL even if count is 0.
std::vector<Tensor> sources(size_t count, htone_tensor* const* tensors) {
  require(tensors, "tensors");
  return held_objects(count, tensors, "tensors");
}

// Another tensor over the elements of the batch: requires_grad of the caller's tensor must not mark the source's own.
Tensor current(const data::Batches& batches, size_t index) {
  require_index(index, batches.count());
  if (!batches.get(index).defined()) fail(Code::kState, "batches", "batches has no batch yet; call htone_batches_next");
  return batches.get(index).detach();
}

}  // namespace

htone_status htone_sampler_create(const htone_sampler_options* options, htone_sampler** out) {
  return Call(make<data::Sampler>, as<sampler_options>(options), out);
}

htone_status htone_sampler_batches_per_epoch(htone_sampler* sampler, int64_t* out_count) {
  return Pure(&data::Sampler::batches_per_epoch, sampler, out_count);
}

htone_status htone_sampler_position(htone_sampler* sampler, int64_t* out_epoch, int64_t* out_batch) {
  return Pure(std::identity(), sampler, PositionResult{out_epoch, out_batch});
}

htone_status htone_sampler_next(htone_sampler* sampler, int64_t* out_indices, size_t capacity, size_t* out_count) {
  return Call(std::identity(), sampler, IndicesResult{out_indices, capacity, out_count});
}

htone_status htone_batches_create(htone_sampler* sampler, size_t count, htone_tensor* const* tensors,
                                  htone_batches** out) {
  return Call(make<data::Batches>, shared(sampler), as<sources>(count, tensors), out);
}

htone_status htone_batches_send_to(htone_batches* batches, htone_device* device) {
  return Call(&data::Batches::send_to, batches, device);
}

htone_status htone_batches_next(htone_batches* batches) { return Call(&data::Batches::next, batches); }

htone_status htone_batches_tensor(htone_batches* batches, size_t index, htone_tensor** out) {
  return Call(current, batches, index, out);
}
