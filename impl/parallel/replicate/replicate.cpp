#include "parallel/replicate/replicate.h"

#include <algorithm>
#include <utility>

#include "autograd/scope.h"
#include "autograd/weights/weights.h"
#include "core/error.h"
#include "parallel/mesh/amax_agreement.h"
#include "parallel/mesh/started_work.h"
#include "parallel/mesh/weights.h"
#include "parallel/rounds/averages.h"
#include "parallel/rounds/microbatch_sum.h"
#include "parallel/rounds/rank_status.h"
#include "parallel/rounds/round.h"
#include "tensor/factory.h"

namespace halftone::parallel {

namespace {

std::vector<nn::NamedBuffer> states_in(std::vector<nn::NamedBuffer> buffers) {
  std::erase_if(buffers, [](const nn::NamedBuffer& buffer) { return buffer.role != nn::BufferRole::kState; });
  return buffers;
}

std::unique_ptr<AmaxAgreement> agreement_about(const std::vector<nn::NamedBuffer>& buffers, bool is_deterministic) {
  auto agreement = std::make_unique<AmaxAgreement>(buffers, is_deterministic);
  return agreement->is_needed() ? std::move(agreement) : nullptr;
}

}  // namespace

Replicate::Replicate(ProcessGroup& group, Ref<nn::Module> module, ReplicateOptions options, Ref<RefCounted> owner)
    : Replicate(group, module, module->parameters(), std::move(options), std::move(owner)) {}

Replicate::Replicate(ProcessGroup& group, const std::vector<NamedParameter>& parameters, ReplicateOptions options,
                     Ref<RefCounted> owner)
    : Replicate(group, nullptr, parameters, std::move(options), std::move(owner)) {}

Replicate::Replicate(ProcessGroup& group, Ref<nn::Module> module, const std::vector<NamedParameter>& parameters,
                     ReplicateOptions options, Ref<RefCounted> owner)
    : GradientEngine(group, parameters,
                     {.name = "ddp",
                      .finds_unused = options.finds_unused,
                      .is_deterministic = options.is_deterministic,
                      .compares_batches = options.compares_batches},
                     {std::move(owner)}),
      module_(std::move(module)),
      module_buffers_(module_ ? module_->buffers() : std::vector<nn::NamedBuffer>()),
      forward_buffers_(options.broadcasts_buffers ? states_in(module_buffers_) : std::vector<nn::NamedBuffer>()),
      amax_agreement_(agreement_about(module_buffers_, options.is_deterministic)),
      options_(std::move(options)),
      sums_(options_.is_deterministic ? make_ref<MicrobatchSums>() : nullptr),
      follows_arrival_(!options_.finds_unused && !options_.is_deterministic) {
  if (sums_ && options_.hook) fail(Code::kInvalidArgument, "options", "a deterministic replica accepts no hook");
  use_hook(sums_ ? Ref<ReductionHook>(sums_) : options_.hook ? options_.hook : average());
  check_model(module_buffers_, [] {});
  for (const NamedParameter& named : all()) named.parameter->weights().materialize();
  compare_models();
  broadcast_weights(exchange(), all(), 0);
  broadcast_buffers(exchange(), module_buffers_, root_, rounds());
  plan();
  add_hooks();
}

Replicate::~Replicate() = default;

void Replicate::plan() {
  const int64_t tail = exchange().size() * static_cast<int64_t>(RankStatus::kNumbers);
  make_buckets([sizes = options_.bucket_sizes, tail](
                   const auto& gradients, const auto& order) { return plan_buckets(gradients, order, sizes, tail); },
               tail);
}

std::string Replicate::settings() const {
  return "buckets of " + std::to_string(options_.bucket_sizes.first) + " and " +
         std::to_string(options_.bucket_sizes.others) + " bytes, " + hook().name() +
         (options_.broadcasts_buffers ? ", broadcast_buffers" : "");
}

void Replicate::check_weights() const { compare_weights(exchange(), all()); }

void Replicate::set_hook(Ref<ReductionHook> hook) {
  if (sums_) fail(Code::kState, "ddp", "a deterministic replica adds in its own way");
  if (has_round()) fail(Code::kState, "ddp", "a backward is under way");
  use_hook(std::move(hook));
  update_model_hash();
}

void Replicate::add_hooks() {
  if (!module_) return;
  watch_forwards(*module_);
  if (forward_buffers_.empty() && !amax_agreement_) return;
  keep(module_->forward_pre_hooks().add(
      [this](const nn::Module&, std::span<const Tensor>, std::span<Tensor>) { prepare_forward(); }));
}

// Evaluation, and forwards without backward, are this rank's own.
void Replicate::prepare_forward() {
  if (!module_->is_training() || !scope().grad_enabled) return;
  if (!is_synced()) return note_forward();
  if (is_joining_) exchange_step(Step::kForward);
  share_buffers();
}

void Replicate::note_forward() const noexcept {
  if (amax_agreement_) amax_agreement_->note_forward();
}

void Replicate::share_buffers() {
  if (amax_agreement_) amax_agreement_->begin_forward(exchange(), rounds(), goes_on());
  broadcast_buffers(exchange(), forward_buffers_, root_, rounds());
}

// A deterministic step has had microbatches, whose gradients no zero_grad has dropped.
bool Replicate::goes_on() const {
  return std::any_of(parameters().begin(), parameters().end(),
                     [](const auto& named) { return named.parameter->accumulator().gradient().has_total(); });
}

RoundRule Replicate::begin_round() {
  if (is_joining_ && is_synced()) exchange_step(Step::kBackward);
  if (sums_ && !goes_on()) sums_->reset();
  const bool divides = is_joining_ && divides_by_active_ && active_ > 0;
  return {.factor = divides ? 1.0 * exchange().size() / active_ : 1.0, .compares_steps = !has_joined_};
}

void Replicate::reduced(const std::vector<size_t>& arrived) {
  if (sums_) take_totals();
  if (amax_agreement_) amax_agreement_->end_backward(exchange(), rounds());
  follow_arrival(arrived);
}

void Replicate::take_totals() {
  for (size_t index = 0; index < buckets().buckets().size(); ++index) {
    const Tensor total = sums_->total(index);
    for (const auto& [parameter, view] : buckets().buckets()[index].slots) {
      AccumulateGrad& leaf = parameters()[parameter].parameter->accumulator();
      if (leaf.has_grad()) leaf.gradient().bring_total(total.as_strided(view.shape(), view.strides(), view.offset()));
    }
  }
}

// Once: the order of registration only guesses that of backward. One rank decides, since others may see another order.
void Replicate::follow_arrival(const std::vector<size_t>& arrived) {
  if (!std::exchange(follows_arrival_, false)) return;
  const std::vector<size_t>& own = arrived.size() == parameters().size() ? arrived : buckets().order();
  std::vector<int64_t> numbers(own.begin(), own.end());
  const Tensor order = from_host(exchange().device(), DType::kI64, {static_cast<int64_t>(numbers.size())},
                                 numbers.data(), Category::kCommunication);
  exchange().start_broadcast(order, root_, exchange().options(Purpose::kOrder)).wait();
  read_to_host(order, DType::kI64, numbers.data());
  std::vector<size_t> agreed(numbers.begin(), numbers.end());
  if (agreed != buckets().order()) lay_out(std::move(agreed));
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
  broadcast_weights(exchange(), all(), root_);
  broadcast_buffers(exchange(), module_buffers_, root_, rounds());
  root_ = 0;
}

bool Replicate::shadow_step() {
  const Step step = exchange_step(Step::kNothing);
  if (step == Step::kForward) share_buffers();
  if (step == Step::kBackward) {
    shadow_round();
    if (amax_agreement_) amax_agreement_->end_backward(exchange(), rounds());
    follow_arrival({});
  }
  return active_ > 0;
}

// Ranks with batches are at one step, and have run as many backwards.
Replicate::Step Replicate::exchange_step(Step own) {
  const int64_t numbers[] = {static_cast<int64_t>(own), static_cast<int64_t>(rounds())};
  const std::vector<int64_t> all = exchange().gather(numbers, exchange().options(Purpose::kJoin, join_steps_++));
  const auto step_of = [&](int32_t rank) { return static_cast<Step>(all[static_cast<size_t>(rank) * 2]); };
  const auto rounds_of = [&](int32_t rank) { return all[static_cast<size_t>(rank) * 2 + 1]; };
  active_ = 0;
  for (int32_t rank = 0; rank < exchange().size(); ++rank) {
    if (step_of(rank) == Step::kNothing) continue;
    if (++active_ == 1) root_ = rank;
    if (step_of(rank) == step_of(root_) && rounds_of(rank) == rounds_of(root_)) continue;
    fail(Code::kComm, "",
         "ranks %d and %d are not at the same step: expected all ranks to run the same forwards and backwards while "
         "they have batches",
         root_, rank);
  }
  if (active_ == 0) return Step::kNothing;
  if (own == Step::kNothing) set_rounds(static_cast<uint64_t>(rounds_of(root_)));
  return step_of(root_);
}

}  // namespace halftone::parallel
