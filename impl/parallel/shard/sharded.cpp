#include "parallel/shard/sharded.h"

#include <algorithm>
#include <utility>

#include "offload/file_space.h"
#include "offload/host_space.h"
#include "ops/dispatch/cast.h"
#include "parallel/mesh/model_signature.h"
#include "parallel/mesh/weights.h"
#include "parallel/shard/shard_plans.h"
#include "tensor/factory.h"

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
  size_t set_of(const Parameter& parameter) const noexcept override {
    return engine_ == nullptr ? 0 : engine_->set_of(parameter);
  }
  void settle() noexcept override {
    if (engine_ != nullptr) engine_->units_.settle();
  }
  void updated_set(size_t set) noexcept override {
    if (engine_ != nullptr) engine_->units_.start_update(set);
  }
  void updated() override { engine().units_.update(); }

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
      new Sharded(group, replicas, module.parameters(), module.buffers(), options, std::move(owners)));
  const Claims claims(made->all_);
  const std::vector<Unit> units = choose_units(module, made->all_, unit_rule_of(options));
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
      forwards_(exchange_, options_.is_deterministic, options_.compares_batches),
      ranks_(make_ref<Ranks>(*this)),
      units_(!is_full(), options_.most_units) {
  check_with_ranks(exchange_, signature_of(all_, buffers), [this] { require_shareable(); });
  if (options_.is_deterministic) exchange_.set_deterministic();
  if (LateStates::suits(exchange_.device())) {
    late_ = std::make_unique<LateStates>(exchange_.device(), exchange_.rank(), exchange_.size());
  }
  for (const NamedParameter& named : all_) {
    trained_.push_back(named.parameter->is_frozen() ? kFrozen : parameters_.size());
    if (named.parameter->is_frozen()) continue;
    index_of_.emplace(named.parameter.get(), parameters_.size());
    parameters_.push_back(named);
  }
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
  const Claims free(all_);
  const auto is_frozen = [](const NamedParameter& named) { return named.parameter->is_frozen(); };
  if (std::all_of(all_.begin(), all_.end(), is_frozen)) {
    fail(Code::kState, "module", "every parameter is frozen, so that none takes a gradient");
  }
  for (const NamedParameter& named : all_) {
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
  std::string text = "options: sharding ";
  text += std::to_string(static_cast<int32_t>(options_.sharding));
  text.append(", weights in ").append(name_of(options_.weight_dtype)).append(", ").append(gradients_->name());
  if (options_.finds_unused) text += ", find_unused_parameters";
  if (options_.compares_batches) text += ", check_batch_sizes";
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

// Weights that stay travel buffer by buffer: each one is a unit.
void Sharded::make_units(const std::vector<Unit>& units) {
  const OffloadPlace offload = offload_place();
  for (const Unit& unit : units) {
    std::vector<FlatPlan> plans = plan_weights(all_, unit.parameters, options_, exchange_.size());
    if (is_full()) {
      add_unit(std::move(plans), offload);
    } else {
      for (FlatPlan& plan : plans) add_unit({std::move(plan)}, offload);
    }
  }
  waiting_.resize(units_.size());
}

void Sharded::add_unit(std::vector<FlatPlan> plans, const OffloadPlace& offload) {
  const size_t number = units_.size();
  for (const FlatPlan& plan : plans) {
    for (const PlannedBucket::Slot& slot : plan.slots) {
      if (!plan.is_frozen) unit_of_[trained_[slot.parameter]] = number;
    }
  }
  units_.add(all_, std::move(plans), exchange_, ranks_, offload, [this, number] { need(number); });
}

size_t Sharded::set_of(const Parameter& parameter) const noexcept {
  const auto found = index_of_.find(&parameter);
  return is_full() || found == index_of_.end() ? 0 : unit_of_[found->second];
}

void Sharded::make_buckets() {
  buckets_ = std::make_unique<GradientBuckets>(
      parameters_,
      [this](const auto& gradients, const auto&) {
        return plan_gradients(units_, gradients, trained_, parameters_, options_.sharding == Sharding::kOptimizer);
      },
      0);
  gradients_->follow(*buckets_);
}

void Sharded::add_gradient_hooks() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    hooks_.push_back(
        parameters_[i].parameter->post_accumulate_hooks().add([this, i](AccumulateGrad&) { on_gradient(i); }));
  }
}

void Sharded::add_hooks(nn::Module& module, const std::vector<Unit>& units) {
  // The model's hook is the owner, so that this object goes with the model.
  module.forward_pre_hooks().add(
      [owner = Ref<Sharded>::share(this)](const nn::Module& model, std::span<const Tensor> inputs, std::span<Tensor>) {
        owner->forwards_.enter(model, inputs);
        owner->units_.enter(0);
      });
  hooks_.push_back(module.forward_hooks().add(
      [this](const nn::Module&, std::span<const Tensor>, std::span<const Tensor> outputs, std::span<Tensor> changed) {
        units_.leave(0);
        convert(outputs, changed);
      }));
  for (size_t i = 1; i < units.size(); ++i) {
    hooks_.push_back(units[i].module->forward_pre_hooks().add(
        [this, i](const nn::Module&, std::span<const Tensor>, std::span<Tensor>) { units_.enter(i); }));
    hooks_.push_back(units[i].module->forward_hooks().add([this, i](const nn::Module&, std::span<const Tensor>,
                                                                    std::span<const Tensor>,
                                                                    std::span<Tensor>) { units_.leave(i); }));
  }
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
