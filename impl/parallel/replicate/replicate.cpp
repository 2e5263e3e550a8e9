#include "parallel/replicate/replicate.h"

#include <algorithm>
#include <utility>

#include "autograd/engine.h"
#include "autograd/scope.h"
#include "parallel/mesh/model_signature.h"
#include "parallel/mesh/weights.h"
#include "tensor/factory.h"

namespace halftone::parallel {
namespace {

std::vector<NamedParameter> once(const std::vector<NamedParameter>& parameters) {
  return ParameterSet(parameters).items();
}

}  // namespace

// The round comes last: it uses the owner until it is gone.
struct Replicate::Backward final : RefCounted {
  Backward(Ref<Replicate> replica, Ref<Round> made) : owner(std::move(replica)), round(std::move(made)) {}
  ~Backward() override { owner->round_ = nullptr; }

  const Ref<Replicate> owner;
  const Ref<Round> round;
};

Replicate::Replicate(ProcessGroup& group, Ref<nn::Module> module, ReplicateOptions options, Ref<RefCounted> owner)
    : Replicate(group, module, once(module->parameters()), module->buffers(), std::move(options), std::move(owner)) {}

Replicate::Replicate(ProcessGroup& group, std::vector<NamedParameter> parameters, ReplicateOptions options,
                     Ref<RefCounted> owner)
    : Replicate(group, nullptr, once(parameters), {}, std::move(options), std::move(owner)) {}

Replicate::Replicate(ProcessGroup& group, Ref<nn::Module> module, std::vector<NamedParameter> all,
                     std::vector<nn::NamedBuffer> buffers, ReplicateOptions options, Ref<RefCounted> owner)
    : owner_(std::move(owner)),
      module_(std::move(module)),
      all_(std::move(all)),
      module_buffers_(std::move(buffers)),
      options_(std::move(options)),
      exchange_(group, device_of(all_)),
      forwards_(exchange_, options_.is_deterministic, options_.compares_batches),
      sums_(options_.is_deterministic ? make_ref<MicrobatchSums>() : nullptr),
      follows_arrival_(!options_.finds_unused && !options_.is_deterministic) {
  if (sums_ && options_.hook) fail(Code::kInvalidArgument, "options", "a deterministic replica takes no hook");
  hook_ = sums_ ? Ref<ReductionHook>(sums_) : options_.hook ? options_.hook : average();
  for (const NamedParameter& named : all_) {
    if (named.parameter->is_frozen()) continue;
    index_of_.emplace(named.parameter.get(), parameters_.size());
    parameters_.push_back(named);
  }
  if (options_.is_deterministic) exchange_.set_deterministic();
  if (LateStates::suits(exchange_.device())) {
    late_ = std::make_unique<LateStates>(exchange_.device(), exchange_.rank(), exchange_.size());
  }
  check_with_ranks(exchange_, signature_of(all_, module_buffers_), [this] {
    if (!parameters_.empty()) return;
    fail(Code::kState, "parameters", "every parameter is frozen, so that none takes a gradient");
  });
  for (const NamedParameter& named : all_) named.parameter->weights().materialize();
  compare_models();
  broadcast_weights(exchange_, all_, 0);
  broadcast_buffers(exchange_, module_buffers_, 0, 0);
  const int32_t size = group.size();
  buckets_ = std::make_unique<GradientBuckets>(
      parameters_,
      [sizes = options_.bucket_sizes, size](const auto& gradients, const auto& order) {
        return plan_buckets(gradients, order, sizes, size * static_cast<int64_t>(RankStatus::kNumbers));
      },
      size * static_cast<int64_t>(RankStatus::kNumbers));
  used_.resize(parameters_.size());
  add_hooks();
}

Replicate::~Replicate() {
  for (const Ref<Hook>& hook : hooks_) hook->remove();
}

std::string Replicate::settings() const {
  std::string text = "options: buckets of " + std::to_string(options_.bucket_sizes.first) + " and " +
                     std::to_string(options_.bucket_sizes.others) + " bytes, " + hook_->name();
  if (options_.finds_unused) text += ", find_unused_parameters";
  if (options_.broadcasts_buffers) text += ", broadcast_buffers";
  if (options_.compares_batches) text += ", check_batch_sizes";
  return text;
}

std::vector<std::string> Replicate::signature() const {
  std::vector<std::string> lines = signature_of(all_, module_buffers_);
  lines.push_back(settings());
  return lines;
}

void Replicate::check_weights() const { compare_weights(exchange_, all_); }

void Replicate::compare_models() {
  const std::vector<std::string> lines = signature();
  compare_signatures(exchange_, lines);
  exchange_.set_model(hash_of(lines));
}

void Replicate::set_hook(Ref<ReductionHook> hook) {
  if (sums_) fail(Code::kState, "ddp", "a deterministic replica adds in its own way");
  if (round_ != nullptr) fail(Code::kState, "ddp", "a backward is under way");
  std::swap(hook_, hook);
  exchange_.set_model(hash_of(signature()));
}

void Replicate::add_hooks() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    hooks_.push_back(
        parameters_[i].parameter->post_accumulate_hooks().add([this, i](AccumulateGrad&) { on_gradient(i); }));
  }
  if (!module_) return;
  hooks_.push_back(module_->forward_pre_hooks().add([this](const nn::Module& module, std::span<const Tensor> inputs,
                                                           std::span<Tensor>) { forwards_.enter(module, inputs); }));
  if (module_buffers_.empty() || !options_.broadcasts_buffers) return;
  hooks_.push_back(module_->forward_pre_hooks().add(
      [this](const nn::Module&, std::span<const Tensor>, std::span<Tensor>) { prepare_forward(); }));
}

// Evaluation, and forwards without backward, are this rank's own.
void Replicate::prepare_forward() {
  if (!is_synced() || !module_->is_training() || !scope().grad_enabled) return;
  if (is_joining_) tell_step(Step::kForward);
  broadcast_buffers(exchange_, module_buffers_, root_, rounds_);
}

RoundParts Replicate::parts() {
  return {.parameters = parameters_,
          .buckets = *buckets_,
          .exchange = exchange_,
          .hook = *hook_,
          .used = used_,
          .finds_unused = options_.finds_unused,
          .late = late_.get()};
}

// The first gradient of a backward is there already, maybe in memory that an optimizer chose.
Ref<Round> Replicate::make_round() {
  forwards_.end_microbatch();
  if (late_) late_->check();
  ++rounds_;
  if (is_synced() && is_joining_) tell_step(Step::kBackward);
  if (!buckets_->is_current()) buckets_->lay_out(std::vector<size_t>(buckets_->order()));
  const bool goes_on = std::any_of(parameters_.begin(), parameters_.end(), [](const auto& named) {
    return named.parameter->accumulator().gradient().has_total();
  });
  if (sums_ && !goes_on) sums_->reset();
  StepSettings settings;
  if (is_synced()) settings = StepSettings::of(parameters_, !has_joined_, forwards_.take_rows());
  Ref<Round> round = make_ref<Round>(parts(), rounds_, is_synced(), std::move(settings));
  if (is_joining_ && divides_by_active_ && active_ > 0) round->set_factor(1.0 * exchange_.size() / active_);
  return round;
}

void Replicate::on_gradient(size_t parameter) {
  if (round_ == nullptr) {
    const Ref<Backward> backward = make_ref<Backward>(Ref<Replicate>::share(this), make_round());
    call_at_end_of_backward([backward] { backward->owner->finish(*backward->round); });
    round_ = backward->round.get();
  }
  round_->mark_ready(parameter);
}

void Replicate::mark_ready(const Parameter& parameter) {
  const auto found = index_of_.find(&parameter);
  if (found == index_of_.end()) fail(Code::kState, "parameter", "%s is no parameter of this replica", parameter.name());
  if (!parameter.has_grad()) fail(Code::kState, "parameter", "%s has no gradient", parameter.name());
  if (round_ == nullptr) {
    manual_round_ = make_round();
    round_ = manual_round_.get();
  }
  round_->mark_ready(found->second);
}

void Replicate::finish() {
  if (!manual_round_) fail(Code::kState, "ddp", "no gradient was marked as ready since the last finish");
  const Ref<Round> round = std::exchange(manual_round_, nullptr);
  round_ = nullptr;
  finish(*round);
}

void Replicate::finish(Round& round) {
  round.finish();
  if (!round.is_synced()) return;
  if (sums_) take_totals();
  follow_arrival(round);
}

void Replicate::take_totals() {
  for (size_t index = 0; index < buckets_->buckets().size(); ++index) {
    const Tensor total = sums_->total(index);
    for (const auto& [parameter, view] : buckets_->buckets()[index].slots) {
      AccumulateGrad& leaf = parameters_[parameter].parameter->accumulator();
      if (leaf.has_grad()) leaf.gradient().bring_total(total.as_strided(view.shape(), view.strides(), view.offset()));
    }
  }
}

// Once: the order of registration only guesses that of backward. One rank decides, since others may see another order.
void Replicate::follow_arrival(const Round& round) {
  if (!std::exchange(follows_arrival_, false)) return;
  const bool is_whole = round.arrived().size() == parameters_.size();
  const std::vector<size_t>& own = is_whole ? round.arrived() : buckets_->order();
  std::vector<int64_t> numbers(own.begin(), own.end());
  const Tensor order = from_host(exchange_.device(), DType::kI64, {static_cast<int64_t>(numbers.size())},
                                 numbers.data(), Category::kCommunication);
  exchange_.start_broadcast(order, root_, exchange_.options(Purpose::kOrder)).wait();
  read_to_host(order, DType::kI64, numbers.data());
  std::vector<size_t> agreed(numbers.begin(), numbers.end());
  if (agreed != buckets_->order()) buckets_->lay_out(std::move(agreed));
}

void Replicate::begin_no_sync() {
  if (sums_) fail(Code::kState, "ddp", "a deterministic replica reduces every backward");
  ++no_sync_depth_;
}

void Replicate::end_no_sync() {
  if (no_sync_depth_ == 0) fail(Code::kState, "ddp", "no_sync was not begun");
  --no_sync_depth_;
}

void Replicate::begin_join(bool divides_by_active) {
  if (is_joining_) fail(Code::kState, "ddp", "join was begun already");
  is_joining_ = true;
  divides_by_active_ = divides_by_active;
}

// The other ranks' last weights are in the rank that led their last step.
void Replicate::end_join() {
  if (!is_joining_) fail(Code::kState, "ddp", "join was not begun");
  while (shadow_step()) continue;
  is_joining_ = false;
  has_joined_ = true;
  broadcast_weights(exchange_, all_, root_);
  broadcast_buffers(exchange_, module_buffers_, root_, rounds_);
  root_ = 0;
}

bool Replicate::shadow_step() {
  const Step step = tell_step(Step::kNothing);
  if (step == Step::kForward) broadcast_buffers(exchange_, module_buffers_, root_, rounds_);
  if (step == Step::kBackward) {
    if (!buckets_->is_current()) buckets_->lay_out(std::vector<size_t>(buckets_->order()));
    const Ref<Round> round = make_ref<Round>(parts(), rounds_, true);
    round->shadow();
    follow_arrival(*round);
  }
  return active_ > 0;
}

// Ranks with batches are at one step, and have run as many backwards.
Replicate::Step Replicate::tell_step(Step own) {
  const int64_t numbers[] = {static_cast<int64_t>(own), static_cast<int64_t>(rounds_)};
  const std::vector<int64_t> all = exchange_.gather(numbers, exchange_.options(Purpose::kJoin, join_steps_++));
  active_ = 0;
  Step step = Step::kNothing;
  for (int32_t rank = 0; rank < exchange_.size(); ++rank) {
    const auto told = static_cast<Step>(all[static_cast<size_t>(rank) * 2]);
    const auto rounds = static_cast<uint64_t>(all[static_cast<size_t>(rank) * 2 + 1]);
    if (told == Step::kNothing) continue;
    if (++active_ == 1) {
      root_ = rank;
      step = told;
      if (own == Step::kNothing) rounds_ = rounds;
    } else if (step != told || rounds != static_cast<uint64_t>(all[static_cast<size_t>(root_) * 2 + 1])) {
      fail(Code::kComm, "",
           "ranks %d and %d are not at the same step: expected all ranks to run the same forwards and backwards while "
           "they have batches",
           root_, rank);
    }
  }
  return step;
}

}  // namespace halftone::parallel
