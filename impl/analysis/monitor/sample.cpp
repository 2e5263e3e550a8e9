#include "analysis/monitor/sample.h"

#include <cmath>
#include <limits>
#include <utility>

#include "tensor/launch.h"

namespace halftone::analysis {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A view of one number with as many dimensions as `in`.
View number_view(double* number, const View& in) {
  View view = {.data = number, .dtype = DType::kF64, .shape = {}, .strides = {}};
  for (int i = 0; i < in.rank(); ++i) {
    view.shape.push_back(1);
    view.strides.push_back(1);
  }
  return view;
}

}  // namespace

Sample::Sample(ContextDevice& device)
    : device_(device),
      context_(Ref<Context>::share(device.context)),
      summaries_(device),
      updates_(device),
      norms_(device),
      states_(device) {}

// Pinned memory is freed by the device only behind the transfers that use it.
Sample::~Sample() {
  if (arrival_ != nullptr) arrival_->destroy();
}

void Sample::begin(int64_t step) noexcept {
  step_ = step;
  tensors_.clear();
  summaries_.clear();
  updates_.clear();
  norms_.clear();
  states_.clear();
  state_.reset();
  next_state_.reset();
}

size_t Sample::add(TensorKind kind, std::string name, DType dtype) {
  TensorRecord record;
  record.kind = kind;
  record.name = std::move(name);
  record.dtype = dtype;
  record.place = static_cast<int64_t>(tensors_.size());
  tensors_.push_back({.record = std::move(record), .summary = summaries_.add()});
  return tensors_.size() - 1;
}

size_t Sample::norm_of(const Tensor& tensor) {
  const size_t number = norms_.add();
  const View view = tensor.view();
  launch("statistics", device_, &Kernels::reduce, &ReduceKernels::vector_norm, 2.0, view,
         number_view(norms_.at(number), view));
  return number;
}

// Rounded to FP32; the norm is a sum in double.
size_t Sample::norm_of_difference(const Tensor& a, const Tensor& b) {
  const Tensor difference = empty(device_, DType::kF32, a.shape(), Category::kWorkspace);
  launch("statistics", device_, &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kSubtract, a.view(),
         b.view(), difference.view());
  return norm_of(difference);
}

void Sample::summarize(size_t number, const Tensor& tensor) {
  SampledTensor& sampled = tensors_[number];
  sampled.record.elements += tensor.numel();
  if (tensor.numel() == 0) return;
  launch("statistics", device_, &Kernels::statistics, &StatisticsKernels::summarize, tensor.view(),
         summaries_.at(sampled.summary));
  sampled.norms.push_back(norm_of(tensor));
}

void Sample::summarize_update(size_t number, const Tensor& before, const Tensor& after, const Tensor& gradient) {
  if (before.numel() == 0) return;
  const size_t counts = updates_.add();
  launch("statistics", device_, &Kernels::statistics, &StatisticsKernels::summarize_update, before.view(), after.view(),
         gradient.view(), updates_.at(counts));
  tensors_[number].update = {.counts = counts, .norm = norm_of_difference(after, before)};
}

// The scalar product of both follows from three norms.
void Sample::compare(size_t number, const Tensor& gradient, const Tensor& next) {
  if (gradient.numel() == 0) return;
  const size_t norm = norm_of(next);
  tensors_[number].next = {.norm = norm, .difference = norm_of_difference(next, gradient)};
}

std::optional<size_t> Sample::copy_of(const Tensor& state) {
  const size_t number = states_.add();
  const View from = state.view();
  View to = from;
  to.data = states_.at(number);
  launch("statistics", device_, &Kernels::convert, &ConvertKernels::cast, from, to);
  return number;
}

void Sample::add_state(const Tensor& state) { state_ = copy_of(state); }

void Sample::add_next_state(const Tensor& state) { next_state_ = copy_of(state); }

void Sample::send() {
  summaries_.send();
  updates_.send();
  norms_.send();
  states_.send();
  if (arrival_ == nullptr) check(device_.device->create_event(&arrival_));
  check(arrival_->record(current_stream(device_)));
}

bool Sample::has_arrived() const {
  bool reached = false;
  check(arrival_->is_reached(&reached));
  return reached;
}

void Sample::wait() const { check(arrival_->synchronize()); }

TensorSample Sample::read() const {
  TensorSample sample = {.step = step_, .tensors = {}};
  for (const SampledTensor& sampled : tensors_) {
    sample.tensors.push_back(sampled.record);
    finish(sampled, sample.tensors.back());
  }
  return sample;
}

void Sample::finish(const SampledTensor& sampled, TensorRecord& record) const {
  record.summary = summaries_[sampled.summary];
  double squares = 0;
  for (const size_t norm : sampled.norms) squares += norms_[norm] * norms_[norm];
  const bool is_finite = record.summary.extremes.infinities == 0 && record.summary.extremes.nans == 0;
  record.norm = is_finite ? std::sqrt(squares) : kNan;
  if (record.kind == TensorKind::kGradient && state_) record.scale = 1.0 / states_[*state_].unscale_factor;
  const bool is_skipped = state_ && states_[*state_].skipped != 0;
  if (sampled.update && !is_skipped) {
    record.update = {.counts = updates_[sampled.update->counts], .norm = norms_[sampled.update->norm]};
  }
  record.noise = noise_of(sampled, record.norm);
}

// With the gradients g and h of two batches, |g - h|^2 / 2 estimates the variance and g.h the square of the mean. There
// is none if a gradient is not finite, both are 0, or they carry different scales.
std::optional<double> Sample::noise_of(const SampledTensor& sampled, double norm) const {
  if (!sampled.next || !state_ || !next_state_) return {};
  if (states_[*state_].unscale_factor != states_[*next_state_].unscale_factor) return {};
  const double next = norms_[sampled.next->norm], difference = norms_[sampled.next->difference];
  const double squares = norm * norm + next * next;
  if (!std::isfinite(squares) || !std::isfinite(difference) || squares == 0) return {};
  const double product = (squares - difference * difference) / 2;
  return product > 0 ? difference * difference / 2 / product : kInfinity;
}

}  // namespace halftone::analysis
