#include "parallel/rounds/gradient_engine.h"

#include <utility>

#include "autograd/engine.h"
#include "core/error.h"
#include "parallel/mesh/forward_watch.h"
#include "parallel/mesh/model_signature.h"
#include "parallel/mesh/weights.h"
#include "parallel/rounds/round.h"

namespace halftone::parallel {
namespace {

constexpr const char* kMarked = "gradients were marked as ready; finish them before a backward";

}  // namespace

// A backward of autograd that has reached the model; owned by the autograd engine.
struct GradientEngine::Backward final : RefCounted {
  explicit Backward(Ref<GradientEngine> engine) : owner(std::move(engine)) { owner->is_in_backward_ = true; }
  ~Backward() override { owner->leave_backward(); }

  const Ref<GradientEngine> owner;
};

GradientEngine::GradientEngine(const Mesh& mesh, const std::vector<NamedParameter>& parameters,
                               const EngineOptions& options, std::vector<Ref<RefCounted>> owners)
    : owners_(std::move(owners)),
      options_(options),
      all_(ParameterSet(parameters).items()),
      exchange_(mesh, device_of(all_)),
      forwards_(std::make_unique<ForwardWatch>(exchange_, options_.is_deterministic, options_.compares_batches)) {
  for (const NamedParameter& named : all_) {
    if (named.parameter->is_frozen()) continue;
    index_of_.emplace(named.parameter.get(), parameters_.size());
    parameters_.push_back(named);
  }
  used_.resize(parameters_.size());
  if (options_.is_deterministic) exchange_.set_deterministic();
  if (LateStates::suits(exchange_.device())) {
    late_ = std::make_unique<LateStates>(exchange_.device(), exchange_.rank(), exchange_.size());
  }
}

GradientEngine::~GradientEngine() {
  if (round_) reserve(nullptr);
  for (const Ref<Hook>& hook : hooks_) hook->remove();
}

void GradientEngine::check_model(const std::vector<nn::NamedBuffer>& buffers,
                                 const std::function<void()>& require_suitable) {
  signature_ = signature_of(all_, buffers);
  check_with_ranks(exchange_, signature_, [&] {
    if (parameters_.empty()) {
      fail(Code::kState, "parameters", "every parameter is frozen, so that none takes a gradient");
    }
    require_suitable();
  });
}

std::vector<std::string> GradientEngine::signature() const {
  std::vector<std::string> lines = signature_;
  lines.push_back("options: " + settings());
  if (options_.finds_unused) lines.back() += ", find_unused_parameters";
  if (options_.compares_batches) lines.back() += ", check_batch_sizes";
  return lines;
}

void GradientEngine::use_hook(Ref<ReductionHook> hook) noexcept { std::swap(hook_, hook); }

void GradientEngine::compare_models() {
  compare_signatures(exchange_, signature());
  update_model_hash();
}

void GradientEngine::update_model_hash() { exchange_.set_model(hash_of(signature())); }

void GradientEngine::make_buckets(BucketPlanner planner, int64_t status_count) {
  buckets_ = std::make_unique<GradientBuckets>(parameters_, std::move(planner), status_count);
  hook_->follow(*buckets_);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    keep(parameters_[i].parameter->post_accumulate_hooks().add([this, i](AccumulateGrad&) { on_gradient(i); }));
  }
}

size_t GradientEngine::index_of(const Parameter& parameter) const noexcept {
  const auto found = index_of_.find(&parameter);
  return found == index_of_.end() ? kUntrained : found->second;
}

void GradientEngine::watch_forwards(nn::Module& model) {
  keep(model.forward_pre_hooks().add([this](const nn::Module& module, std::span<const Tensor> inputs,
                                            std::span<Tensor>) { forwards_->enter(module, inputs); }));
}

void GradientEngine::lay_out(std::vector<size_t> order) {
  buckets_->lay_out(std::move(order));
  hook_->follow(*buckets_);
}

// The first gradient of a backward may be in memory that an optimizer chose.
void GradientEngine::update_buckets() {
  if (!buckets_->is_current()) lay_out(std::vector<size_t>(buckets_->order()));
}

RoundParts GradientEngine::parts() {
  return {.parameters = parameters_,
          .buckets = *buckets_,
          .exchange = exchange_,
          .hook = *hook_,
          .used = used_,
          .finds_unused = options_.finds_unused,
          .late = late_.get()};
}

Ref<Round> GradientEngine::make_round() {
  forwards_->end_microbatch();
  if (late_) late_->check();
  ++rounds_;
  update_buckets();
  const RoundRule rule = begin_round();
  hook_->begin(!is_in_backward_);
  StepSettings settings;
  if (is_synced()) settings = StepSettings::of(parameters_, rule.compares_steps, forwards_->take_rows());
  return make_ref<Round>(parts(), rounds_, is_synced(), std::move(settings), rule.factor);
}

RoundRule GradientEngine::begin_round() { return {}; }

void GradientEngine::shadow_round() {
  update_buckets();
  make_ref<Round>(parts(), rounds_, true)->shadow();
}

void GradientEngine::enter_backward() {
  if (is_in_backward_) return;
  if (round_) fail(Code::kState, options_.name, "%s", kMarked);
  const Ref<Backward> backward = make_ref<Backward>(Ref<GradientEngine>::share(this));
  begin_backward();
  call_at_end_of_backward([backward] { backward->owner->finish_backward(); });
}

void GradientEngine::finish_backward() {
  if (round_) finish_round();
}

// A round that is left has failed.
void GradientEngine::leave_backward() noexcept {
  is_in_backward_ = false;
  if (round_) hook_->drop();
  round_ = nullptr;
  end_backward();
}

void GradientEngine::on_gradient(size_t parameter) {
  enter_backward();
  if (!round_) round_ = make_round();
  round_->mark_ready(parameter);
  complete(parameter);
}

void GradientEngine::mark_ready(const Parameter& parameter) {
  const size_t index = index_of(parameter);
  if (index == kUntrained) {
    fail(Code::kState, "parameter", "%s is no parameter that this model trains", parameter.name());
  }
  if (!parameter.has_grad()) fail(Code::kState, "parameter", "%s has no gradient", parameter.name());
  if (is_in_backward_) fail(Code::kState, options_.name, "a backward is under way");
  if (!round_) {
    round_ = make_round();
    reserve(kMarked);
  }
  round_->mark_ready(index);
}

void GradientEngine::finish() {
  if (!round_ || is_in_backward_) {
    fail(Code::kState, options_.name, "no gradient was marked as ready since the last finish");
  }
  reserve(nullptr);
  finish_round();
}

void GradientEngine::reserve(const char* reason) noexcept {
  for (const NamedParameter& named : parameters_) named.parameter->accumulator().gradient().reserve(reason);
}

void GradientEngine::finish_round() {
  const Ref<Round> round = std::exchange(round_, nullptr);
  try {
    round->finish();
  } catch (...) {
    hook_->drop();
    throw;
  }
  if (round->is_synced()) reduced(round->arrived());
}

void GradientEngine::begin_no_sync() {
  if (options_.is_deterministic) fail(Code::kState, options_.name, "a deterministic model reduces every backward");
  ++no_sync_depth_;
}

void GradientEngine::end_no_sync() {
  if (no_sync_depth_ == 0) fail(Code::kState, options_.name, "no_sync was not begun");
  --no_sync_depth_;
}

}  // namespace halftone::parallel
