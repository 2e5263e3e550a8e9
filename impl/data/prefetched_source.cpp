#include "data/prefetched_source.h"

#include <utility>

#include "core/error.h"
#include "runtime/context.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::data {

PrefetchedSource::PrefetchedSource(Ref<const Source> source, Ref<Sampler> sampler, ContextDevice& device)
    : source_(std::move(source)),
      sampler_(std::move(sampler)),
      device_(device),
      context_(Ref<Context>::share(device.context)) {
  Status status = device.device->create_event(&ready_);
  if (status.ok()) status = device.device->create_event(&copied_);
  if (status.ok()) status = device.device->create_stream(&stream_);
  if (status.ok()) return;
  if (copied_ != nullptr) copied_->destroy();
  if (ready_ != nullptr) ready_->destroy();
  fail(status);
}

// A batch that was not taken returns its memory behind its copy.
PrefetchedSource::~PrefetchedSource() {
  (void)copied_->wait_on(device_.device->stream());
  ahead_.reset();
  copied_->destroy();
  ready_->destroy();
  stream_->destroy();
}

std::vector<Tensor> PrefetchedSource::batch(const std::vector<int64_t>& indices) const {
  Ahead now = ahead_.has_value() && ahead_->indices == indices ? *std::exchange(ahead_, std::nullopt) : load(indices);
  join();
  ahead_.reset();
  look_ahead();
  return std::move(now.tensors);
}

void PrefetchedSource::look_ahead() const {
  try {
    ahead_ = load(sampler_->following());
  } catch (const Error&) {
  }
}

PrefetchedSource::Ahead PrefetchedSource::load(std::vector<int64_t> indices) const {
  std::vector<Tensor> tensors = source_->batch(indices);
  try {
    for (Tensor& tensor : tensors) tensor = sent(tensor);
  } catch (...) {
    join();  // behind the copies that are under way, memory may be released
    throw;
  }
  return {std::move(indices), std::move(tensors)};
}

// The new memory may still be used by work in the device's stream, which is ahead of the copy.
Tensor PrefetchedSource::sent(const Tensor& tensor) const {
  if (&tensor.device() == &device_) return tensor;
  if (!tensor.device().device->host_accessible()) return moved_to(device_, tensor);
  const Tensor source = contiguous(tensor);
  const Tensor target = empty(device_, source.dtype(), source.shape());
  if (target.numel() == 0) return target;
  check(ready_->record(current_stream(device_)));
  check(ready_->wait_on(*stream_));
  const size_t bytes = static_cast<size_t>(source.numel()) * size_of(source.dtype());
  check(device_.device->copy_from_host(*stream_, target.data(), source.data(), bytes));
  check(copied_->record(*stream_));
  return target;
}

void PrefetchedSource::join() const { check(copied_->wait_on(current_stream(device_))); }

}  // namespace halftone::data
