#include "parallel/shard/sharded.h"

#include <algorithm>
#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "autograd/scope.h"
#include "autograd/weights/weights.h"
#include "core/error.h"
#include "offload/file_space.h"
#include "offload/host_space.h"
#include "ops/dispatch/cast.h"
#include "parallel/mesh/weights.h"
#include "parallel/shard/gradient_shards.h"
#include "parallel/shard/shard_plans.h"
#include "parallel/shard/weight_units.h"

namespace halftone::parallel {
namespace {

// Claims all parameters for a while. If it throws, no parameter has changed.
class Claims {
 public:
  explicit Claims(const std::vector<NamedParameter>& parameters) {
    for (const NamedParameter& named : parameters) {
      if (!named.parameter->owner().claim()) {
        fail(Code::kState, "module", "parameter %s has an optimizer; shard the module first", named.name.c_str());
      }
      claimed_.push_back(named.parameter);
    }
  }
  ~Claims() {
    for (const Ref<Parameter>& parameter : claimed_) parameter->owner().release();
  }

 private:
  std::vector<Ref<Parameter>> claimed_;
};

OffloadPlace place_of(const ShardedOptions& options, ContextDevice& device) {
  OffloadPlace place = {.space = nullptr,
                        .page_size = options.offload_page / static_cast<int64_t>(size_of(DType::kF32))};
  if (options.offload == Offload::kHost) place.space = make_ref<offload::HostSpace>(device);
  if (options.offload == Offload::kFile) {
    place.space = make_ref<offload::FileSpace>(device, options.offload_directory);
  }
  return place;
}

}  // namespace

// The engine as optimizers see it. Parameters own this, and the engine owns parameters.
class Sharded::Ranks final : public ShardRanks {
 public:
  explicit Ranks(Sharded& engine) : engine_(&engine) {}
  void forget_engine() noexcept { engine_ = nullptr; }

  int32_t size() const noexcept override { return engine_ == nullptr ? 1 : engine_->exchange().size(); }
  void gather(const Tensor& own, const Tensor& all) override {
    const Exchange& exchange = engine().exchange();
    exchange.start_all_gather(own, all, exchange.options(Purpose::kGradientCheck)).wait();
  }
  size_t set_of(const Parameter& parameter) const noexcept override {
    return engine_ == nullptr ? 0 : engine_->set_of(parameter);
  }
  void settle() noexcept override {
    if (engine_ != nullptr) engine_->units_->settle();
  }
  void updated_set(size_t set) noexcept override {
    if (engine_ != nullptr) engine_->units_->start_update(set);
  }
  void updated() override { engine().units_->update(); }

 private:
  Sharded& engine() const {
    if (engine_ == nullptr) fail(Code::kState, "optimizer", "the sharded module of these parameters is gone");
    return *engine_;
  }

  Sharded* engine_;
};

Ref<Sharded> Sharded::create(ProcessGroup& group, ProcessGroup* replicas, nn::Module& module,
                             const ShardedOptions& options, std::vector<Ref<RefCounted>> owners) {
  auto made = Ref<Sharded>::adopt(
      new Sharded({group, replicas}, module.parameters(), module.buffers(), options, std::move(owners)));
  const std::vector<Unit> units = choose_units(module, made->all(), unit_rule_of(options));
  made->share(units);
  made->add_hooks(module, units);
  return made;
}

Ref<Sharded> Sharded::create(ProcessGroup& group, ProcessGroup* replicas, const std::vector<NamedParameter>& parameters,
                             const ShardedOptions& options, std::vector<Ref<RefCounted>> owners) {
  auto made = Ref<Sharded>::adopt(new Sharded({group, replicas}, parameters, {}, options, std::move(owners)));
  Unit unit = {.module = nullptr, .path = "", .parameters = {}};
  for (size_t i = 0; i < made->all().size(); ++i) unit.parameters.push_back(i);
  made->share({unit});
  return made;
}

Sharded::Sharded(const Mesh& mesh, const std::vector<NamedParameter>& parameters,
                 const std::vector<nn::NamedBuffer>& buffers, const ShardedOptions& options,
                 std::vector<Ref<RefCounted>> owners)
    : GradientEngine(mesh, parameters,
                     {.name = "fsdp",
                      .finds_unused = options.finds_unused,
                      .is_deterministic = options.is_deterministic,
                      .compares_batches = options.compares_batches},
                     std::move(owners)),
      options_(options),
      amax_agreement_(buffers, options.is_deterministic),
      ranks_(make_ref<Ranks>(*this)),
      units_(std::make_unique<WeightUnits>(exchange(), !is_full(), options_.most_units)),
      unit_of_(this->parameters().size()) {
  check_model(buffers, [this] { require_shareable(); });
  for (const NamedParameter& named : all()) trained_.push_back(index_of(*named.parameter));
  use_hook(make_ref<GradientShards>(this->parameters(), exchange(),
                                    GradientRule{.keeps_buckets = options_.sharding == Sharding::kOptimizer,
                                                 .is_deterministic = options_.is_deterministic,
                                                 .wire = options_.wire_dtype,
                                                 .keeps_remainders = options_.has_error_feedback}));
  compare_models();
  broadcast_buffers(exchange(), buffers, 0, 0);
}

Sharded::~Sharded() { ranks_->forget_engine(); }

void Sharded::begin_gather() { units_->begin_gather(); }

void Sharded::end_gather() noexcept { units_->end_gather(); }

size_t Sharded::unit_count() const noexcept { return is_full() ? units_->size() : 1; }

int64_t Sharded::offloaded_bytes() const noexcept { return units_->offloaded_bytes(); }

void Sharded::require_shareable() const {
  const Claims free(all());
  for (const NamedParameter& named : all()) {
    const Parameter& parameter = *named.parameter;
    const char* name = named.name.c_str();
    if (parameter.is_sharded()) fail(Code::kState, "module", "parameter %s is sharded already", name);
    if (parameter.placement().is_memory_shared() && is_full()) {
      fail(Code::kUnsupported, "module",
           "parameter %s was made over a tensor, whose memory stays its master: expected sharding optimizer or "
           "gradients",
           name);
    }
    if (parameter.weights().is_split() || parameter.weights().master().dtype() != DType::kF32) {
      fail(Code::kDtypeMismatch, "module", "parameter %s is %s, expected f32 weights", name,
           name_of(parameter.weights().kept().dtype()));
    }
  }
}

std::string Sharded::settings() const {
  std::string text = "sharding " + std::to_string(static_cast<int32_t>(options_.sharding));
  text.append(", weights in ").append(name_of(options_.weight_dtype)).append(", ").append(hook().name());
  if (!is_full()) return text.append(", buckets of ").append(std::to_string(options_.bucket_bytes)).append(" bytes");
  const UnitRule& rule = options_.units;
  text.append(", units of path ").append(rule.path.value_or("any")).append(", kind ").append(rule.kind.value_or("any"));
  text.append(" and ").append(std::to_string(rule.least_elements)).append(" elements, at most ");
  return text.append(std::to_string(options_.most_units)).append(" at once");
}

// Weights that stay travel buffer by buffer: each one is a unit.
void Sharded::share(const std::vector<Unit>& units) {
  const Claims claims(all());
  const OffloadPlace offload = place_of(options_, exchange().device());
  for (const Unit& unit : units) {
    std::vector<FlatPlan> plans = plan_weights(all(), unit.parameters, options_, exchange().size());
    if (is_full()) {
      add_unit(std::move(plans), offload);
    } else {
      for (FlatPlan& plan : plans) add_unit({std::move(plan)}, offload);
    }
  }
  const auto plan = [this](const auto& gradients, const auto&) {
    return plan_gradients(*units_, gradients, trained_, parameters(), options_.sharding == Sharding::kOptimizer);
  };
  make_buckets(plan, 0);
  // Kept weights in codes are read before the first update, too.
  if (!is_full()) units_->update();
}

void Sharded::add_unit(std::vector<FlatPlan> plans, const OffloadPlace& offload) {
  const size_t number = units_->size();
  for (const FlatPlan& plan : plans) {
    for (const PlannedBucket::Slot& slot : plan.slots) {
      if (!plan.is_frozen) unit_of_[trained_[slot.parameter]] = number;
    }
  }
  units_->add(all(), std::move(plans), ranks_, offload, [this, number] { need(number); });
}

size_t Sharded::set_of(const Parameter& parameter) const noexcept {
  const size_t index = index_of(parameter);
  return is_full() || index == kUntrained ? 0 : unit_of_[index];
}

void Sharded::add_hooks(nn::Module& module, const std::vector<Unit>& units) {
  watch_forwards(module);
  // The model's hook is the owner, so that this object goes with the model.
  module.forward_pre_hooks().add(
      [owner = Ref<Sharded>::share(this)](const nn::Module& model, std::span<const Tensor>, std::span<Tensor>) {
        owner->prepare_forward(model);
        owner->units_->enter(0);
      });
  keep(module.forward_hooks().add(
      [this](const nn::Module&, std::span<const Tensor>, std::span<const Tensor> outputs, std::span<Tensor> changed) {
        units_->leave(0);
        convert(outputs, changed);
      }));
  for (size_t i = 1; i < units.size(); ++i) {
    keep(units[i].module->forward_pre_hooks().add(
        [this, i](const nn::Module&, std::span<const Tensor>, std::span<Tensor>) { units_->enter(i); }));
    keep(units[i].module->forward_hooks().add([this, i](const nn::Module&, std::span<const Tensor>,
                                                        std::span<const Tensor>,
                                                        std::span<Tensor>) { units_->leave(i); }));
  }
}

void Sharded::prepare_forward(const nn::Module& module) {
  if (!module.is_training() || !scope().grad_enabled) return;
  if (!is_synced()) return amax_agreement_.note_forward();
  const bool goes_on = std::any_of(parameters().begin(), parameters().end(), [](const NamedParameter& named) {
    return named.parameter->placement().shard_grad().defined();
  });
  amax_agreement_.begin_forward(exchange(), rounds(), goes_on);
}

void Sharded::reduced(const std::vector<size_t>&) { amax_agreement_.end_backward(exchange(), rounds()); }

// At most a gather of weights that stay is in flight, and one rank alone may read them.
void Sharded::need(size_t unit) {
  if (!is_full()) return units_->wait(unit);
  if (scope().node == nullptr) return units_->need_in_forward(unit);
  enter_backward();
  units_->need_in_backward(unit);
}

void Sharded::begin_backward() {
  units_->begin_backward();
  waiting_.assign(units_->size(), 0);
  for (const size_t unit : unit_of_) ++waiting_[unit];
}

void Sharded::end_backward() noexcept { units_->end_backward(); }

void Sharded::complete(size_t parameter) noexcept {
  const size_t unit = unit_of_[parameter];
  if (--waiting_[unit] == 0) units_->complete(unit);
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

}  // namespace halftone::parallel
