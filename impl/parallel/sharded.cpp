#include "parallel/sharded.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "autograd/engine.h"
#include "autograd/scope.h"
#include "offload/file_space.h"
#include "offload/host_space.h"
#include "ops/dispatch/cast.h"
#include "parallel/model_signature.h"
#include "parallel/weights.h"
#include "tensor/factory.h"

namespace halftone::parallel {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Claims all parameters for a while. If it throws, no parameter has changed.
class Claims {
 public:
  explicit Claims(const std::vector<NamedParameter>& parameters) {
    for (const NamedParameter& named : parameters) {
      if (!named.parameter->claim()) {
        fail(Code::kState, "module", "parameter %s has an optimizer; shard the module first", named.name.c_str());
      }
      claimed_.push_back(named.parameter);
    }
  }
  ~Claims() {
    for (const Ref<Parameter>& parameter : claimed_) parameter->unclaim();
  }

 private:
  std::vector<Ref<Parameter>> claimed_;
};

}  // namespace

// The engine as optimizers see it. Parameters own this, and the engine owns parameters.
class Sharded::Ranks final : public ShardRanks {
 public:
  explicit Ranks(Sharded& engine) : engine_(&engine) {}
  void forget_engine() noexcept { engine_ = nullptr; }

  int32_t size() const noexcept override { return engine_ == nullptr ? 1 : engine_->exchange_.size(); }
  void gather(const Tensor& own, const Tensor& all) override {
    Exchange& exchange = engine().exchange_;
    exchange.start_all_gather(own, all, exchange.options(Purpose::kGradientCheck)).wait();
  }
  void updated() override { engine().update(); }

 private:
  Sharded& engine() const {
    if (engine_ == nullptr) fail(Code::kState, "optimizer", "the sharded module of these parameters is gone");
    return *engine_;
  }

  Sharded* engine_;
};

// A backward of autograd that has reached this model; owned by the autograd engine.
struct Sharded::Backward final : RefCounted {
  explicit Backward(Ref<Sharded> sharded) : owner(std::move(sharded)) { owner->backward_ = this; }
  ~Backward() override { owner->leave_backward(); }

  const Ref<Sharded> owner;
};

Ref<Sharded> Sharded::create(ProcessGroup& group, ProcessGroup* replicas, nn::Module& module,
                             const ShardedOptions& options, std::vector<Ref<RefCounted>> owners) {
  auto made = Ref<Sharded>::adopt(
      new Sharded(group, replicas, module.parameters(), module.buffers(), options, std::move(owners)));
  const Claims claims(made->all_);
  const std::vector<Unit> units = choose_units(module, made->all_, made->unit_rule());
  made->make_units(units);
  made->add_hooks(module, units);
  made->make_buckets();
  return made;
}

Ref<Sharded> Sharded::create(ProcessGroup& group, ProcessGroup* replicas, const std::vector<NamedParameter>& parameters,
                             const ShardedOptions& options, std::vector<Ref<RefCounted>> owners) {
  auto made = Ref<Sharded>::adopt(new Sharded(group, replicas, parameters, {}, options, std::move(owners)));
  const Claims claims(made->all_);
  Unit unit = {.module = nullptr, .path = "", .parameters = {}};
  for (size_t i = 0; i < made->all_.size(); ++i) unit.parameters.push_back(i);
  made->make_units({unit});
  made->make_buckets();
  return made;
}

Sharded::Sharded(ProcessGroup& group, ProcessGroup* replicas, const std::vector<NamedParameter>& parameters,
                 const std::vector<nn::NamedBuffer>& buffers, const ShardedOptions& options,
                 std::vector<Ref<RefCounted>> owners)
    : owners_(std::move(owners)),
      options_(options),
      all_(ParameterSet(parameters).items()),
      exchange_(group, device_of(all_), replicas),
      ranks_(make_ref<Ranks>(*this)) {
  require_shareable();
  for (const NamedParameter& named : all_) {
    trained_.push_back(named.parameter->is_frozen() ? kNone : parameters_.size());
    if (named.parameter->is_frozen()) continue;
    index_of_.emplace(named.parameter.get(), parameters_.size());
    parameters_.push_back(named);
  }
  if (parameters_.empty()) fail(Code::kState, "module", "every parameter is frozen, so that none takes a gradient");
  gradients_ = make_ref<GradientShards>(parameters_, exchange_,
                                        GradientRule{.keeps_buckets = options_.sharding == Sharding::kOptimizer,
                                                     .is_deterministic = options_.is_deterministic,
                                                     .wire = options_.wire_dtype});
  used_.resize(parameters_.size());
  unit_of_.resize(parameters_.size());
  compare_models(buffers);
  broadcast_buffers(buffers);
  add_gradient_hooks();
}

// Works of the group may still write to memory that the units have.
Sharded::~Sharded() {
  ranks_->forget_engine();
  for (const Ref<Hook>& hook : hooks_) hook->remove();
}

void Sharded::require_shareable() const {
  for (const NamedParameter& named : all_) {
    const Parameter& parameter = *named.parameter;
    const char* name = named.name.c_str();
    if (parameter.is_sharded()) fail(Code::kState, "module", "parameter %s is sharded already", name);
    if (parameter.is_shared() && is_full()) {
      fail(Code::kUnsupported, "module",
           "parameter %s was made over a tensor, whose memory stays its master: expected sharding optimizer or "
           "gradients",
           name);
    }
    if (parameter.is_split() || parameter.master().dtype() != DType::kF32) {
      fail(Code::kDtypeMismatch, "module", "parameter %s is %s, expected f32 weights", name,
           name_of(parameter.weights().dtype()));
    }
  }
}

std::string Sharded::settings() const {
  std::string text = "options: sharding ";
  text += std::to_string(static_cast<int32_t>(options_.sharding));
  text.append(", weights in ").append(name_of(options_.weight_dtype)).append(", ").append(gradients_->name());
  if (options_.finds_unused) text += ", find_unused_parameters";
  if (!is_full()) return text.append(", buckets of ").append(std::to_string(options_.bucket_bytes)).append(" bytes");
  const UnitRule& rule = options_.units;
  text.append(", units of path ").append(rule.path.value_or("any")).append(", kind ").append(rule.kind.value_or("any"));
  text.append(" and ").append(std::to_string(rule.least_elements)).append(" elements, at most ");
  return text.append(std::to_string(options_.most_units)).append(" at once");
}

void Sharded::compare_models(const std::vector<nn::NamedBuffer>& buffers) {
  std::vector<std::string> lines = signature_of(all_, buffers);
  lines.push_back(settings());
  compare_signatures(exchange_, lines);
  exchange_.set_model(hash_of(lines));
}

void Sharded::broadcast_buffers(const std::vector<nn::NamedBuffer>& buffers) {
  for (const nn::NamedBuffer& buffer : buffers) {
    exchange_.broadcast_from_first(buffer.tensor, exchange_.options(Purpose::kBuffers));
    buffer.tensor.bump_version();
  }
}

OffloadPlace Sharded::offload_place() const {
  OffloadPlace place = {.space = nullptr,
                        .page_size = options_.offload_page / static_cast<int64_t>(size_of(DType::kF32))};
  if (options_.offload == Offload::kHost) place.space = make_ref<offload::HostSpace>(exchange_.device());
  if (options_.offload == Offload::kFile) {
    place.space = make_ref<offload::FileSpace>(exchange_.device(), options_.offload_directory);
  }
  return place;
}

UnitRule Sharded::unit_rule() const {
  UnitRule rule = options_.units;
  if (!is_full()) rule.least_elements = std::numeric_limits<int64_t>::max();
  return rule;
}

void Sharded::make_units(const std::vector<Unit>& units) {
  const OffloadPlace offload = offload_place();
  for (size_t i = 0; i < units.size(); ++i) {
    units_.emplace_back(all_, plans_of(units[i].parameters), exchange_, i, !is_full(), ranks_, offload,
                        [this, i] { need(i); });
    for (const size_t number : units[i].parameters) {
      if (trained_[number] != kNone) unit_of_[trained_[number]] = i;
    }
  }
  waiting_.resize(units.size());
  is_lent_.resize(units.size());
  next_in_forward_.assign(units.size(), kNone);
  next_in_backward_.assign(units.size(), kNone);
}

std::vector<FlatPlan> Sharded::plans_of(const std::vector<size_t>& parameters) const {
  std::vector<FlatParameter> sizes;
  for (const NamedParameter& named : all_) {
    const Shape& shape = named.parameter->shape();
    const bool is_lent = named.parameter->is_shared();
    sizes.push_back({.numel = numel(shape),
                     .dtype = shape.rank() >= 2 && !is_lent ? options_.weight_dtype : DType::kF32,
                     .is_frozen = named.parameter->is_frozen(),
                     .is_lent = is_lent});
  }
  const int64_t full_bytes = is_full() ? std::numeric_limits<int64_t>::max() : options_.bucket_bytes;
  return plan_flats(sizes, parameters, exchange_.size(), full_bytes);
}

void Sharded::make_buckets() {
  buckets_ = std::make_unique<GradientBuckets>(
      parameters_, [this](const auto& gradients, const auto&) { return plan_gradients(gradients); }, 0);
  gradients_->follow(*buckets_);
}

// Backward completes the units that forward came to last first, and the model's own last of all; of a unit the buffers
// whose first parameter comes last.
std::vector<PlannedBucket> Sharded::plan_gradients(const std::vector<GradientSize>& gradients) const {
  std::vector<PlannedBucket> buckets;
  for (size_t unit = units_.size(); unit > 0; --unit) {
    std::vector<FlatPlan> plans = units_[unit - 1].plans();
    std::stable_sort(plans.begin(), plans.end(), [](const FlatPlan& a, const FlatPlan& b) {
      return a.slots.front().parameter > b.slots.front().parameter;
    });
    for (const FlatPlan& plan : plans) {
      if (plan.is_frozen) continue;
      const bool needs_memory = options_.sharding == Sharding::kOptimizer;
      PlannedBucket bucket = {.dtype = DType::kF32, .slots = {}, .size = plan.size, .needs_memory = needs_memory};
      for (const PlannedBucket::Slot& slot : plan.slots) {
        const size_t parameter = trained_[slot.parameter];
        if (bucket.slots.empty()) bucket.dtype = gradients[parameter].dtype;
        if (bucket.dtype != gradients[parameter].dtype) {
          fail(Code::kUnsupported, "optimizer", "the gradients of %s and %s, which are reduced together, have %s",
               parameters_[bucket.slots[0].parameter].name.c_str(), parameters_[parameter].name.c_str(),
               "different dtypes");
        }
        bucket.slots.push_back({parameter, slot.begin});
      }
      buckets.push_back(std::move(bucket));
    }
  }
  return buckets;
}

void Sharded::add_gradient_hooks() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    hooks_.push_back(
        parameters_[i].parameter->post_accumulate_hooks().add([this, i](AccumulateGrad&) { on_gradient(i); }));
  }
}

void Sharded::add_hooks(nn::Module& module, const std::vector<Unit>& units) {
  // The model's hook is the owner, so that this object goes with the model.
  module.forward_pre_hooks().add([owner = Ref<Sharded>::share(this)](const nn::Module&, std::span<const Tensor>,
                                                                     std::span<Tensor>) { owner->enter(0); });
  hooks_.push_back(module.forward_hooks().add(
      [this](const nn::Module&, std::span<const Tensor>, std::span<const Tensor> outputs, std::span<Tensor> changed) {
        leave(0);
        convert(outputs, changed);
      }));
  for (size_t i = 1; i < units.size(); ++i) {
    hooks_.push_back(units[i].module->forward_pre_hooks().add(
        [this, i](const nn::Module&, std::span<const Tensor>, std::span<Tensor>) { enter(i); }));
    hooks_.push_back(
        units[i].module->forward_hooks().add([this, i](const nn::Module&, std::span<const Tensor>,
                                                       std::span<const Tensor>, std::span<Tensor>) { leave(i); }));
  }
}

int64_t Sharded::offloaded_bytes() const noexcept {
  int64_t bytes = 0;
  for (const WeightUnit& unit : units_) bytes += unit.offloaded_bytes();
  return bytes;
}

int32_t Sharded::gathered_units() const {
  return static_cast<int32_t>(
      std::count_if(units_.begin() + 1, units_.end(), [](const WeightUnit& unit) { return unit.is_whole(); }));
}

// Begins to gather the unit that came after this one the last time, and remembers this one's place.
void Sharded::start_next(std::vector<size_t>& next_of, size_t& last, size_t unit) {
  if (last != kNone && last != unit) next_of[last] = unit;
  last = unit;
  const size_t next = next_of[unit];
  if (next == kNone || gathered_units() >= options_.most_units) return;
  units_[next].start_gather();
  // Masters in a swap space set out one unit earlier.
  if (next_of[next] != kNone) units_[next_of[next]].start_fetch();
}

void Sharded::enter(size_t unit) {
  if (unit == 0 && backward_ == nullptr) {
    last_in_forward_ = kNone;
    is_in_forward_ = true;
  }
  units_[unit].gather();
  if (is_full() && backward_ == nullptr) start_next(next_in_forward_, last_in_forward_, unit);
}

// A forward that backward runs again is followed by the backward of the same unit. The model's own weights stay, and
// those that a module outside their unit reads stay until the end of the forward.
void Sharded::leave(size_t unit) noexcept {
  if (backward_ != nullptr) return;
  if (unit != 0) {
    if (gather_depth_ == 0 && is_lent_[unit] == 0) units_[unit].release();
    return;
  }
  is_in_forward_ = false;
  std::fill(is_lent_.begin(), is_lent_.end(), uint8_t{0});
  for (size_t i = 1; i < units_.size() && gather_depth_ == 0; ++i) units_[i].release();
}

void Sharded::convert(std::span<const Tensor> outputs, std::span<Tensor> replacements) const {
  if (!output_dtype_) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) continue;
    const DType dtype = outputs[i].dtype();
    const bool is_convertible = is_float(dtype) && dtype != DType::kF64 && size_of(dtype) > 1;
    if (is_convertible && dtype != *output_dtype_) replacements[i] = ops::cast(outputs[i], *output_dtype_);
  }
}

void Sharded::need(size_t unit) {
  const bool is_in_backward = scope().node != nullptr;
  if (!is_in_backward && !is_in_forward_) {
    fail(Code::kState, "parameter",
         "weights that ranks share are not gathered; run the forward of the sharded module on all ranks, or gather %s",
         "them with htone_fsdp_gather_begin");
  }
  if (!is_in_backward) {
    is_lent_[unit] = 1;
    return units_[unit].gather();
  }
  enter_backward();
  units_[unit].gather();
  if (unit != 0) start_next(next_in_backward_, last_in_backward_, unit);
}

void Sharded::enter_backward() {
  if (backward_ != nullptr) return;
  const Ref<Backward> backward = make_ref<Backward>(Ref<Sharded>::share(this));
  last_in_backward_ = kNone;
  std::fill(waiting_.begin(), waiting_.end(), size_t{0});
  for (const size_t unit : unit_of_) ++waiting_[unit];
  call_at_end_of_backward([backward] { backward->owner->finish_backward(); });
}

void Sharded::leave_backward() noexcept {
  backward_ = nullptr;
  if (round_) gradients_->drop();
  round_ = nullptr;
  if (gather_depth_ > 0) return;
  for (WeightUnit& unit : units_) unit.release();
}

Ref<Round> Sharded::make_round(bool is_manual) {
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
                            .finds_unused = options_.finds_unused};
  return make_ref<Round>(parts, rounds_, no_sync_depth_ == 0);
}

void Sharded::on_gradient(size_t parameter) {
  if (is_manual_) fail(Code::kState, "fsdp", "gradients were marked as ready; finish them before a backward");
  enter_backward();
  if (!round_) round_ = make_round(false);
  round_->mark_ready(parameter);
  const size_t unit = unit_of_[parameter];
  if (--waiting_[unit] == 0 && unit != 0 && gather_depth_ == 0) units_[unit].release();
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

// Weights that stay are brought up to date at once, so that every rank may read them.
void Sharded::update() {
  if (is_full() && gather_depth_ == 0) return;
  for (WeightUnit& unit : units_) unit.start_gather();
  for (WeightUnit& unit : units_) unit.gather();
}

void Sharded::begin_no_sync() {
  if (options_.is_deterministic) fail(Code::kState, "fsdp", "a deterministic model reduces every backward");
  ++no_sync_depth_;
}

void Sharded::end_no_sync() {
  if (no_sync_depth_ == 0) fail(Code::kState, "fsdp", "no_sync was not begun");
  --no_sync_depth_;
}

void Sharded::begin_gather() {
  ++gather_depth_;
  try {
    for (WeightUnit& unit : units_) unit.start_gather();
    for (WeightUnit& unit : units_) unit.gather();
  } catch (...) {
    end_gather();
    throw;
  }
}

void Sharded::end_gather() noexcept {
  if (--gather_depth_ > 0 || backward_ != nullptr) return;
  for (WeightUnit& unit : units_) unit.release();
}

}  // namespace halftone::parallel
