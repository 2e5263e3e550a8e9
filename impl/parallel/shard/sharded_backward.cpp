// The backwards of a sharded model: their gradients, and the weights that they read.
#include <algorithm>
#include <utility>

#include "autograd/engine.h"
#include "autograd/scope.h"
#include "parallel/shard/sharded.h"

namespace halftone::parallel {

// A backward of autograd that has reached this model; owned by the autograd engine.
struct Sharded::Backward final : RefCounted {
  explicit Backward(Ref<Sharded> sharded) : owner(std::move(sharded)) { owner->backward_ = this; }
  ~Backward() override { owner->leave_backward(); }

  const Ref<Sharded> owner;
};

// At most a gather of weights that stay is in flight, and one rank alone may read them.
void Sharded::need(size_t unit) {
  if (!is_full()) return units_.wait(unit);
  if (scope().node == nullptr) return units_.need_in_forward(unit);
  enter_backward();
  units_.need_in_backward(unit);
}

void Sharded::enter_backward() {
  if (backward_ != nullptr) return;
  const Ref<Backward> backward = make_ref<Backward>(Ref<Sharded>::share(this));
  units_.begin_backward();
  std::fill(waiting_.begin(), waiting_.end(), size_t{0});
  for (const size_t unit : unit_of_) ++waiting_[unit];
  call_at_end_of_backward([backward] { backward->owner->finish_backward(); });
}

void Sharded::leave_backward() noexcept {
  backward_ = nullptr;
  if (round_) gradients_->drop();
  round_ = nullptr;
  units_.end_backward();
}

Ref<Round> Sharded::make_round(bool is_manual) {
  forwards_.end_microbatch();
  if (late_) late_->check();
  ++rounds_;
  if (!buckets_->is_current()) {
    buckets_->lay_out(std::vector<size_t>(buckets_->order()));
    gradients_->follow(*buckets_);
  }
  gradients_->begin(is_manual);
  const RoundParts parts = {.parameters = parameters_,
                            .buckets = *buckets_,
                            .exchange = exchange_,
                            .hook = *gradients_,
                            .used = used_,
                            .finds_unused = options_.finds_unused,
                            .late = late_.get()};
  const bool is_synced = no_sync_depth_ == 0;
  StepSettings settings;
  if (is_synced) settings = StepSettings::of(parameters_, true, forwards_.take_rows());
  return make_ref<Round>(parts, rounds_, is_synced, std::move(settings));
}

void Sharded::on_gradient(size_t parameter) {
  if (is_manual_) fail(Code::kState, "fsdp", "gradients were marked as ready; finish them before a backward");
  enter_backward();
  if (!round_) round_ = make_round(false);
  round_->mark_ready(parameter);
  const size_t unit = unit_of_[parameter];
  if (--waiting_[unit] == 0) units_.complete(unit);
}

void Sharded::finish_backward() {
  if (!round_) return;
  round_->finish();
  round_ = nullptr;
}

void Sharded::mark_ready(const Parameter& parameter) {
  const auto found = index_of_.find(&parameter);
  if (found == index_of_.end()) {
    fail(Code::kState, "parameter", "%s is no parameter of this sharded model", parameter.name());
  }
  if (!parameter.has_grad()) fail(Code::kState, "parameter", "%s has no gradient", parameter.name());
  if (backward_ != nullptr) fail(Code::kState, "fsdp", "a backward is under way");
  if (!round_) round_ = make_round(true);
  is_manual_ = true;
  round_->mark_ready(found->second);
}

void Sharded::finish() {
  if (!is_manual_) fail(Code::kState, "fsdp", "no gradient was marked as ready since the last finish");
  is_manual_ = false;
  const Ref<Round> round = std::move(round_);
  try {
    round->finish();
  } catch (...) {
    gradients_->drop();
    throw;
  }
}

void Sharded::begin_no_sync() {
  if (options_.is_deterministic) fail(Code::kState, "fsdp", "a deterministic model reduces every backward");
  ++no_sync_depth_;
}

void Sharded::end_no_sync() {
  if (no_sync_depth_ == 0) fail(Code::kState, "fsdp", "no_sync was not begun");
  --no_sync_depth_;
}

}  // namespace halftone::parallel
