#include "parallel/rounds/round.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

constexpr size_t kShownNames = 4;  // in a message

bool is_finite(const Tensor& tensor) {
  const Tensor norm = empty(tensor.device(), DType::kF64, {1}, Category::kCommunication);
  const Tensor line = tensor.as_strided({tensor.numel()}, {1}, tensor.offset());
  // The sum of magnitudes in double: finite numbers of 32 bits or fewer cannot overflow it.
  launch("find_not_finite", tensor.device(), &Kernels::reduce, &ReduceKernels::vector_norm, 1.0, line.view(),
         norm.view());
  return std::isfinite(item(norm));
}

// Ranks that run different backwards notice it here.
[[noreturn]] void fail_in_round(uint64_t number, const Error& error) {
  if (error.code() != Code::kComm && error.code() != Code::kTimeout) throw error;
  fail(error.code(), "",
       "backward %llu of this rank: %s; expected all ranks to run the same backwards, see no_sync and "
       "join",
       static_cast<unsigned long long>(number), error.what());
}

// "1.weight, 1.bias, ..."
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShownNames); ++i) text.append(i > 0 ? ", " : "").append(names[i]);
  return names.size() > kShownNames ? text + ", ..." : text;
}

[[noreturn]] void fail_missing(const std::string& names) {
  fail(Code::kState, "",
       "backward reached no gradient of %s; set find_unused_parameters if a forward may leave out parameters",
       names.c_str());
}

int32_t union_of(const std::vector<RankStatus>& statuses) {
  int32_t all = 0;
  for (const RankStatus& status : statuses) all |= status.state;
  return all;
}

// Sets of parameters, in numbers that ranks exchange.
constexpr size_t kBitsOfNumber = 64;
uint64_t bit_of(size_t parameter) { return uint64_t{1} << parameter % kBitsOfNumber; }

}  // namespace

Round::Round(const RoundParts& parts, uint64_t number, bool is_synced, StepSettings settings, double factor)
    : parts_(parts),
      number_(number),
      is_synced_(is_synced),
      settings_(std::move(settings)),
      factor_(factor),
      is_ready_(parts.parameters.size()) {
  for (const GradientBuckets::Bucket& bucket : parts_.buckets.buckets()) waiting_.push_back(bucket.slots.size());
}

// A round that did not finish belongs to a backward that failed. The others learn it from the last bucket, unless this
// rank has started that one before it failed.
Round::~Round() {
  if (is_over_ || !is_synced_) return;
  try {
    state_ |= kFailed;
    reduce();
    if (parts_.finds_unused) reduce_used();
  } catch (const std::exception&) {
    // The caller has the error of backward; this one tells the same, or that the group has failed, too.
  }
}

AccumulateGrad& Round::leaf(size_t parameter) const noexcept {
  return parts_.parameters[parameter].parameter->accumulator();
}

void Round::mark_ready(size_t parameter) {
  if (is_ready_[parameter] != 0) {
    fail(Code::kState, "parameter", "the gradient of %s is complete already in this backward",
         parts_.parameters[parameter].name.c_str());
  }
  parts_.used[parameter] = 1;
  is_ready_[parameter] = 1;
  arrived_.push_back(parameter);
  if (!is_synced_) return;
  const Tensor& view = parts_.buckets.view_of(parameter);
  const Tensor grad = leaf(parameter).grad();
  if (grad.data() != view.data()) {
    parts_.hook.prepare(parts_.buckets.bucket_of(parameter));
    copy(grad, view);
    elsewhere_.push_back(parameter);
  }
  --waiting_[parts_.buckets.bucket_of(parameter)];
  start_whole_buckets();
}

void Round::start_whole_buckets() {
  while (reductions_.size() < waiting_.size() && waiting_[reductions_.size()] == 0) start(reductions_.size());
}

void Round::start(size_t index) {
  const GradientBuckets::Bucket& bucket = parts_.buckets.buckets()[index];
  look_for_not_finite(bucket);
  if (index + 1 == waiting_.size() && parts_.hook.status_factor(parts_.exchange) > 0) write_status();
  reductions_.push_back(
      parts_.hook.start({.exchange = parts_.exchange, .bucket = bucket, .index = index, .step = number_}));
  complete_older();
}

void Round::complete_older() {
  try {
    while (reductions_.size() - completed_ > parts_.hook.most_open()) {
      while (!reductions_[completed_]->advance()) continue;
      ++completed_;
    }
  } catch (const Error& error) {
    fail_in_round(number_, error);
  }
}

void Round::start_rest() {
  while (reductions_.size() < waiting_.size()) start(reductions_.size());
}

// Only gradients of a scaled loss: there the scaler expects such values, and its outcome names the rank. On a device
// whose work is queued the look would wait, so the outcome names no rank there.
void Round::look_for_not_finite(const GradientBuckets::Bucket& bucket) {
  if (parts_.late != nullptr) return;
  const bool is_scaled = std::any_of(bucket.slots.begin(), bucket.slots.end(),
                                     [&](const auto& slot) { return leaf(slot.parameter).gradient().has_scaled(); });
  if (!is_scaled || is_finite(bucket.flat)) return;
  for (const GradientBuckets::Slot& slot : bucket.slots) {
    if (is_ready_[slot.parameter] == 0 || is_finite(slot.view)) continue;
    not_finite_.resize((parts_.parameters.size() + kBitsOfNumber - 1) / kBitsOfNumber);
    int64_t& number = not_finite_[slot.parameter / kBitsOfNumber];
    number = static_cast<int64_t>(static_cast<uint64_t>(number) | bit_of(slot.parameter));
    state_ |= kNotFinite;
  }
}

// Adds a status to zeros in the places of the other ranks.
void Round::write_status() {
  std::vector<RankStatus::Numbers> all(static_cast<size_t>(parts_.exchange.size()), RankStatus::Numbers{});
  all[static_cast<size_t>(parts_.exchange.rank())] = own_status().numbers();
  write_from_host(parts_.buckets.status(), DType::kF32, all.data());
}

std::vector<RankStatus> Round::statuses_of_ranks() const {
  std::vector<RankStatus> statuses;
  if (const int32_t factor = parts_.hook.status_factor(parts_.exchange); factor > 0) {
    std::vector<RankStatus::Numbers> all(static_cast<size_t>(parts_.exchange.size()));
    read_to_host(parts_.buckets.status(), DType::kF32, all.data());
    for (const RankStatus::Numbers& numbers : all) statuses.push_back(RankStatus::of(numbers.data(), factor));
    return statuses;
  }
  const int64_t own = own_status().packed();
  for (const int64_t packed : parts_.exchange.gather({&own, 1}, options(Purpose::kStates))) {
    statuses.push_back(RankStatus::unpacked(packed));
  }
  return statuses;
}

// Every reduction in turn goes one step, until all are complete: ranks call operations in one order.
void Round::complete_reductions() {
  std::vector<Reduction*> open;
  for (; completed_ < reductions_.size(); ++completed_) open.push_back(reductions_[completed_].get());
  try {
    while (!open.empty()) std::erase_if(open, [](Reduction* reduction) { return reduction->advance(); });
  } catch (const Error& error) {
    fail_in_round(number_, error);
  }
}

// The other ranks learn of this one's failure in a later backward.
void Round::send_states() {
  const int32_t factor = parts_.hook.status_factor(parts_.exchange);
  const Tensor states = factor > 0 ? converted(parts_.buckets.status(), DType::kF32, Category::kCommunication)
                                   : parts_.exchange.start_states(own_status().numbers(), options(Purpose::kStates));
  parts_.late->add(number_, states, factor > 0 ? factor : 1);
  if ((state_ & kMissing) == 0) return;
  std::vector<std::string> missing;
  for (size_t i = 0; i < is_ready_.size(); ++i) {
    if (is_ready_[i] == 0) missing.push_back(parts_.parameters[i].name);
  }
  fail_missing(listed(missing) + " on rank " + std::to_string(parts_.exchange.rank()));
}

// All ranks leave this with success, or all with an error; where the states come late, only those that caused it.
void Round::reduce() {
  start_rest();
  complete_reductions();
  is_over_ = true;
  if (parts_.late != nullptr) return send_states();
  const std::vector<RankStatus> statuses = statuses_of_ranks();
  require_success(statuses);
  require_same_settings(statuses);
  if ((union_of(statuses) & kNotFinite) != 0) name_not_finite(statuses.size());
}

// An unused gradient counts as 0, but one that was accumulated before counts as it is. A bucket without memory is
// filled with zeros when its reduction starts.
void Round::keep_unused() {
  for (size_t i = 0; i < is_ready_.size(); ++i) {
    if (is_ready_[i] == 0 && leaf(i).has_grad()) parts_.hook.prepare(parts_.buckets.bucket_of(i));
  }
  for (size_t i = 0; i < is_ready_.size(); ++i) {
    const Tensor& view = parts_.buckets.view_of(i);
    if (is_ready_[i] != 0 || view.storage()->is_released()) continue;
    parts_.hook.prepare(parts_.buckets.bucket_of(i));
    Unused unused = {.parameter = i, .kept = {}};
    if (leaf(i).has_grad()) {
      unused.kept = converted(leaf(i).grad(), view.dtype(), Category::kCommunication);
      copy(unused.kept, view);
    } else {
      fill(view, 0.0);
    }
    unused_.push_back(unused);
  }
}

void Round::finish() {
  if (!is_synced_) {
    is_over_ = true;
    return;
  }
  if (!is_complete() && parts_.finds_unused) keep_unused();
  if (!is_complete() && !parts_.finds_unused) state_ |= kMissing;
  reduce();
  deliver(parts_.finds_unused ? reduce_used() : std::vector<uint8_t>());
  std::fill(parts_.used.begin(), parts_.used.end(), uint8_t{0});
}

void Round::shadow() {
  std::fill(parts_.used.begin(), parts_.used.end(), uint8_t{0});
  for (const GradientBuckets::Bucket& bucket : parts_.buckets.buckets()) fill(bucket.flat, 0.0);
  reduce();
  if (parts_.finds_unused) reduce_used();
  for (const NamedParameter& named : parts_.parameters) named.parameter->zero_grad();
}

// Every rank learns which parameters each rank lacks, so that all throw one message.
void Round::require_success(const std::vector<RankStatus>& statuses) {
  if ((union_of(statuses) & (kMissing | kFailed)) == 0) return;
  std::vector<int64_t> ready(is_ready_.begin(), is_ready_.end());
  const std::vector<int64_t> all = parts_.exchange.gather(ready, options(Purpose::kNames));
  for (size_t rank = 0; rank < statuses.size(); ++rank) {
    if ((statuses[rank].state & kFailed) == 0) continue;
    fail(Code::kComm, "", "backward %llu of rank %zu failed, so that the gradients of all ranks are not reduced",
         static_cast<unsigned long long>(number_), rank);
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t rank = i / ready.size();
    if (all[i] != 0 || (statuses[rank].state & kMissing) == 0) continue;
    missing.push_back(parts_.parameters[i % ready.size()].name + " on rank " + std::to_string(rank));
  }
  fail_missing(listed(missing));
}

// A rank without a digest takes part in the steps of the others alone.
void Round::require_same_settings(const std::vector<RankStatus>& statuses) const {
  uint32_t first = 0;
  for (const RankStatus& status : statuses) {
    if (first == 0) first = status.digest;
    if (status.digest != 0 && status.digest != first) fail_different_settings(parts_.exchange, settings_);
  }
}

// A parameter has the lowest rank that names it. One that an earlier backward named keeps its rank: its sum is not
// finite on all ranks since.
void Round::name_not_finite(size_t ranks) {
  not_finite_.resize((parts_.parameters.size() + kBitsOfNumber - 1) / kBitsOfNumber);
  const std::vector<int64_t> all = parts_.exchange.gather(not_finite_, options(Purpose::kNames));
  for (size_t parameter = 0; parameter < parts_.parameters.size(); ++parameter) {
    for (size_t rank = 0; rank < ranks && leaf(parameter).gradient().not_finite_rank() < 0; ++rank) {
      const int64_t number = all[rank * not_finite_.size() + parameter / kBitsOfNumber];
      if ((static_cast<uint64_t>(number) & bit_of(parameter)) == 0) continue;
      leaf(parameter).gradient().set_not_finite_rank(static_cast<int32_t>(rank));
    }
  }
}

void Round::deliver(const std::vector<uint8_t>& anywhere) {
  if (parts_.hook.deliver(anywhere)) return;
  for (const GradientBuckets::Bucket& bucket : parts_.buckets.buckets()) {
    if (factor_ != 1.0) {
      launch("average", bucket.flat.device(), &Kernels::elementwise, &ElementwiseKernels::affine, factor_, 0.0,
             bucket.flat.view(), bucket.flat.view());
    }
    for (const GradientBuckets::Slot& slot : bucket.slots) slot.view.bump_version();
  }
  for (const size_t parameter : elsewhere_) give_back(parameter);
  if (parts_.finds_unused) deliver_unused(anywhere);
}

// Writes the average to the memory that the caller brought, unless that may not be written.
void Round::give_back(size_t parameter) {
  AccumulateGrad& target = leaf(parameter);
  if (!target.grad().storage()->is_read_only()) return copy(parts_.buckets.view_of(parameter), target.grad());
  const int32_t rank = target.gradient().not_finite_rank();
  target.zero_grad();
  target.mark_stored();
  target.gradient().set_not_finite_rank(rank);
}

// Returns for each parameter whether a rank used it.
std::vector<uint8_t> Round::reduce_used() {
  const auto count = static_cast<int64_t>(parts_.used.size());
  const Tensor used =
      from_host(parts_.exchange.device(), DType::kU8, {count}, parts_.used.data(), Category::kCommunication);
  parts_.exchange.all_reduce(used, ReduceOp::kMax, options(Purpose::kUsed));
  std::vector<uint8_t> anywhere(parts_.used.size());
  read_to_host(used, DType::kU8, anywhere.data());
  return anywhere;
}

// A parameter that no rank used keeps its gradient.
void Round::deliver_unused(const std::vector<uint8_t>& anywhere) {
  for (const auto& [parameter, kept] : unused_) {
    const Tensor& view = parts_.buckets.view_of(parameter);
    AccumulateGrad& target = leaf(parameter);
    if (target.is_frozen()) continue;
    if (anywhere[parameter] == 0) {
      if (kept.defined()) copy(kept, view);
    } else if (kept.defined() && target.grad().data() != view.data()) {
      give_back(parameter);
    } else {
      target.mark_stored();
    }
  }
}

}  // namespace halftone::parallel
