#include "halftone/dataset.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/call.h"
#include "data/batches.h"
#include "data/data_options.h"
#include "data/handles.h"
#include "data/sampler.h"
#include "runtime/handles.h"
#include "scope/callback.h"
#include "tensor/factory.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// A tensor of a batch: its dtype and the shape of a row.
struct RowType {
  DType dtype;
  Shape shape;

  Shape batch_shape(int64_t count) const {
    Shape all = {count};
    for (int64_t size : shape) all.push_back(size);
    return halftone::checked_shape(all.begin(), all.rank(), "rows");
  }
};

RowType checked_row(const htone_row_type& row, size_t index) {
  const auto dtype = static_cast<DType>(row.dtype);
  if (!is_valid(dtype)) fail(Code::kInvalidArgument, "rows", "rows[%zu].dtype=%d is no dtype", index, row.dtype);
  if (row.ndim < 0 || row.ndim >= kMaxRank) {
    fail(Code::kInvalidArgument, "rows", "rows[%zu].ndim=%d is outside [0, %d]", index, row.ndim, kMaxRank - 1);
  }
  return {dtype, halftone::checked_shape(row.shape, row.ndim, "rows")};
}

std::vector<RowType> row_types(size_t count, const htone_row_type* rows) {
  require(rows, "rows");
  if (count == 0) fail(Code::kInvalidArgument, "count", "count=0, expected at least 1");
  std::vector<RowType> types;
  for (size_t i = 0; i < count; ++i) types.push_back(checked_row(rows[i], i));
  return types;
}

// Memory that the caller's function fills: the tensor's own if host code can write it, else a copy.
class HostRows {
 public:
  explicit HostRows(Tensor tensor) : tensor_(std::move(tensor)) {
    if (!tensor_.device().device->host_accessible()) copy_.resize(size());
  }
  void* data() { return copy_.empty() ? tensor_.data() : copy_.data(); }
  size_t size() const { return static_cast<size_t>(tensor_.numel()) * size_of(tensor_.dtype()); }

  Tensor filled(size_t index) {
    require_bools(index);
    if (copy_.empty()) {
      tensor_.bump_version();
    } else {
      write_from_host(tensor_, tensor_.dtype(), copy_.data());
    }
    return tensor_;
  }

 private:
  // Kernels rely on a bool being 0 or 1.
  void require_bools(size_t index) {
    if (tensor_.dtype() != DType::kBool) return;
    const auto* bytes = static_cast<const unsigned char*>(data());
    const auto* wrong = std::find_if(bytes, bytes + size(), [](unsigned char byte) { return byte > 1; });
    if (wrong == bytes + size()) return;
    fail(Code::kInvalidArgument, "", "the callback of batches left %d in out_rows[%zu], which is no bool", *wrong,
         index);
  }

  Tensor tensor_;
  std::vector<std::byte> copy_;
};

class CallbackSource final : public data::Source {
 public:
  CallbackSource(Ref<DeviceReference> device, std::vector<RowType> rows, Ref<Callback<htone_load_fn>> callback)
      : device_(std::move(device)), rows_(std::move(rows)), callback_(std::move(callback)) {}

  size_t tensor_count() const noexcept override { return rows_.size(); }
  std::vector<Tensor> batch(const std::vector<int64_t>& indices) const override {
    std::vector<HostRows> rows;
    std::vector<void*> places;
    for (const RowType& row : rows_) {
      rows.emplace_back(empty(device_->device, row.dtype, row.batch_shape(static_cast<int64_t>(indices.size()))));
      places.push_back(rows.back().data());
    }
    callback_->call("the callback of batches", indices.size(), indices.data(), places.data());
    std::vector<Tensor> batch;
    for (size_t i = 0; i < rows.size(); ++i) batch.push_back(rows[i].filled(i));
    return batch;
  }

 private:
  Ref<DeviceReference> device_;
  std::vector<RowType> rows_;
  Ref<Callback<htone_load_fn>> callback_;
};

bool is_token_dtype(DType dtype) { return !is_float(dtype) && dtype != DType::kBool; }

Ref<data::Batches> window_batches(const Ref<data::Sampler>& sampler, const Tensor& tokens, int64_t length,
                                  int64_t stride) {
  if (!is_token_dtype(tokens.dtype())) {
    fail(Code::kDtypeMismatch, "tokens", "tokens is %s, expected integers", name_of(tokens.dtype()));
  }
  if (tokens.rank() != 1) {
    fail(Code::kShapeMismatch, "tokens", "tokens %s has %d dimensions, expected 1", ShapeText(tokens.shape()).text,
         tokens.rank());
  }
  const int64_t windows = data::WindowSource::window_count(tokens.numel(), length, stride);
  if (windows != sampler->count()) {
    fail(Code::kShapeMismatch, "tokens", "tokens %s has %" PRId64 " windows, expected the sampler's count=%" PRId64,
         ShapeText(tokens.shape()).text, windows, sampler->count());
  }
  return make_ref<data::Batches>(sampler,
                                 Ref<const data::Source>(make_ref<data::WindowSource>(tokens, length, stride)));
}

int64_t token_number(int64_t count, ArgumentName name) { return at_least(count, 0, name); }

static_assert(static_cast<int32_t>(data::Part::kTraining) == HTONE_PART_TRAINING);
static_assert(static_cast<int32_t>(data::Part::kValidation) == HTONE_PART_VALIDATION);

data::Part checked_part(htone_data_part part, ArgumentName name) {
  if (part == HTONE_PART_TRAINING || part == HTONE_PART_VALIDATION) return static_cast<data::Part>(part);
  fail(Code::kInvalidArgument, name.text(), "part=%d, expected HTONE_PART_TRAINING or HTONE_PART_VALIDATION", part);
}

Ref<data::Sampler> part_sampler(data::SamplerOptions options, data::Part part, double validation_share,
                                uint64_t split_seed) {
  // The sampler refuses other counts, for which the product may not fit in 64 bits.
  if (options.count > 0 && options.count <= data::kMaxSamples) {
    const double share = std::floor(static_cast<double>(options.count) * validation_share);
    const int64_t validation_count = std::min(static_cast<int64_t>(share), options.count);
    options.split = {.part = part, .validation_count = validation_count, .seed = split_seed};
  }
  return make_ref<data::Sampler>(options);
}

}  // namespace

htone_status htone_batches_create_callback(htone_device* device, htone_sampler* sampler, size_t count,
                                           const htone_row_type* rows, htone_load_fn callback, void* user,
                                           void (*destroy)(void* user), htone_batches** out) {
  return guard([&] {
    const auto held_device = hold(device, "device");
    const auto held_sampler = hold(sampler, "sampler");
    std::vector<RowType> types = row_types(count, rows);
    const Ref<Callback<htone_load_fn>> owned = make_callback(callback, user);
    require_memory(out, "out");
    const Ref<const data::Source> source = make_ref<CallbackSource>(held_device.reference(), std::move(types), owned);
    give_handle(out, make_ref<data::Batches>(held_sampler.reference(), source));
    owned->set_destroy(destroy);
  });
}

htone_status htone_window_count(int64_t token_count, int64_t length, int64_t stride, int64_t* out_count) {
  return Pure(data::WindowSource::window_count, as<token_number>(token_count), as<positive>(length),
              as<positive>(stride), out_count);
}

htone_status htone_batches_create_windows(htone_sampler* sampler, htone_tensor* tokens, int64_t length, int64_t stride,
                                          htone_batches** out) {
  return Call(window_batches, shared(sampler), tokens, as<positive>(length), as<positive>(stride), out);
}

htone_status htone_sampler_create_part(const htone_sampler_options* options, htone_data_part part,
                                       double validation_share, uint64_t split_seed, htone_sampler** out) {
  return Call(part_sampler, as<sampler_options>(options), as<checked_part>(part), as<probability>(validation_share),
              split_seed, out);
}
