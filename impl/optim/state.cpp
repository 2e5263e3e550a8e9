#include "optim/state.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "optim/ema.h"
#include "optim/grad_scaler.h"
#include "optim/optimizer.h"
#include "optim/parameter_match.h"
#include "optim/plateau.h"
#include "optim/saved_moments.h"
#include "tensor/factory.h"

namespace halftone::optim {

namespace {

template <class T>
T scalar_in(const StateDict& state, const std::string& name) {
  const StateScalar* scalar = state.find_scalar(name);
  if (scalar == nullptr || !std::holds_alternative<T>(*scalar)) {
    fail(Code::kFormat, "", "%s is missing", name.c_str());
  }
  return std::get<T>(*scalar);
}

int64_t count_in(const StateDict& state, const std::string& name) {
  const auto count = scalar_in<int64_t>(state, name);
  if (count < 0 || count > kLargestCount) {
    fail(Code::kFormat, "", "%s=%lld is no count", name.c_str(), static_cast<long long>(count));
  }
  return count;
}

float scale_in(const StateDict& state, const std::string& name, double least) {
  const auto value = scalar_in<double>(state, name);
  if (!(value >= least && std::isfinite(static_cast<float>(value)))) {
    fail(Code::kFormat, "", "%s=%g is no scale", name.c_str(), value);
  }
  return static_cast<float>(value);
}

// Checkpoints from before scalers had a bound have none.
double bound_in(const StateDict& state) {
  if (state.find_scalar("bound") == nullptr) return 0.0;
  const auto bound = scalar_in<double>(state, "bound");
  if (!(bound >= 0.0 && std::isfinite(bound))) fail(Code::kFormat, "", "bound=%g is no bound of gradients", bound);
  return bound;
}

std::string of_group(size_t group, const char* name) { return "group." + std::to_string(group) + "." + name; }

// A moment of the range of the parameter that is updated here. It has a scale for each block of the range, which begins
// at a block. Factored moments have shapes of their own, and are always of the whole parameter.
void add_moment(StateDict& state, const std::string& name, const Moment& moment, const Parameter& parameter) {
  const Shard& shard = parameter.placement().shard();
  const int64_t size = numel(parameter.shape());
  const bool is_whole = shard.begin == 0 && shard.end == size;
  const auto blocks = [](int64_t count) { return (count + kBlockSize - 1) / kBlockSize; };
  const auto add = [&](const std::string& part, const Tensor& tensor, const Shape& global_shape, int64_t begin) {
    if (!tensor.defined()) return;
    StateTensor entry = {
        .name = part, .tensor = {}, .range = nullptr, .reader = parameter.placement().store_of(tensor)};
    if (!entry.reader) entry.tensor = tensor;
    if (!is_whole)
      entry.range = std::make_shared<StateRange>(StateRange{.global_shape = global_shape, .offset = begin});
    state.add_entry(part, entry);
  };
  add(name, moment.values, parameter.shape(), shard.begin);
  add(name + "_scales", moment.scales, {blocks(size)}, blocks(shard.begin));
}

// Numbers lead the names, since two modules may have parameters of one name.
std::string numbered(size_t number, const std::string& name) { return std::to_string(number) + "." + name; }

std::string count_name(const Optimizer& optimizer, size_t parameter) {
  return numbered(parameter, optimizer.parameters()[parameter].name()) + ".updates";
}

// The live tensors.
StateDict moments_of(const Optimizer& optimizer) {
  StateDict state;
  size_t number = 0;
  for (const OwnedParameter& parameter : optimizer.parameters()) {
    const std::string name = numbered(number++, parameter.name());
    for (size_t i = 0; i < parameter.moments().size(); ++i) {
      add_moment(state, name + ".moment" + std::to_string(i + 1), parameter.moments()[i], parameter.parameter());
    }
  }
  return state;
}

// The schedule with a progress of its own; null for those that depend on the count of steps alone.
Ref<PlateauSchedule> plateau_of(const Optimizer& optimizer) {
  return Ref<PlateauSchedule>::share(dynamic_cast<PlateauSchedule*>(optimizer.schedule().host.get()));
}

void add_plateau(StateDict& state, const PlateauSchedule::State& plateau) {
  state.add("plateau.factor", plateau.factor);
  state.add("plateau.best", plateau.best);
  state.add("plateau.failures", plateau.failures);
  state.add("plateau.cooldown_left", plateau.cooldown_left);
}

// A state without a plateau is of a run under another schedule: this one goes on as it is.
void stage_plateau(StagedLoad& load, const Optimizer& optimizer, const StateDict& state) {
  const Ref<PlateauSchedule> plateau = plateau_of(optimizer);
  if (!plateau || state.find_scalar("plateau.factor") == nullptr) return;
  PlateauSchedule::State loaded;
  loaded.factor = scalar_in<double>(state, "plateau.factor");
  if (!(loaded.factor >= 0.0 && std::isfinite(loaded.factor))) {
    fail(Code::kFormat, "", "plateau.factor=%g is no factor", loaded.factor);
  }
  loaded.best = scalar_in<double>(state, "plateau.best");
  loaded.failures = count_in(state, "plateau.failures");
  loaded.cooldown_left = count_in(state, "plateau.cooldown_left");
  load.add([plateau, loaded] { plateau->set_state(loaded); });
}

// A state without it is of a run without a guard on the norm: the mean begins anew.
void stage_mean_norm(StagedLoad& load, Optimizer& optimizer, const StateDict& state) {
  MeanNorm loaded;
  if (state.find_scalar("norm_guard.mean") != nullptr) {
    loaded = {.mean = scalar_in<double>(state, "norm_guard.mean"), .count = count_in(state, "norm_guard.count")};
    if (!(loaded.mean >= 0.0 && std::isfinite(loaded.mean))) {
      fail(Code::kFormat, "", "norm_guard.mean=%g is no norm", loaded.mean);
    }
  }
  load.add([&optimizer, loaded] { optimizer.gradients().set_mean_norm(loaded); });
}

StateDict averages_of(const Ema& ema) {
  if (ema.is_swapped()) fail(Code::kState, "ema", "ema is swapped with the weights; swap back first");
  StateDict state;
  for (size_t i = 0; i < ema.size(); ++i) {
    add_moment(state, numbered(i, ema.name(i)), {.values = ema.average(i), .scales = {}}, ema.parameter(i));
  }
  for (const AveragedBuffer& buffer : ema.buffers()) state.add("buffer." + buffer.name, buffer.average);
  return state;
}

void require_same_kind(const Optimizer& optimizer, const StateDict& state, const LoadOptions& options) {
  const auto kind = scalar_in<std::string>(state, "kind");
  const int64_t groups = count_in(state, "groups");
  const bool may_differ = !options.strict && options.keep_settings;
  if (kind == optimizer.kind() && (may_differ || static_cast<size_t>(groups) == optimizer.group_count())) return;
  fail(Code::kFormat, "", "it is %.32s with %lld groups, expected %s with %zu%s", kind.c_str(),
       static_cast<long long>(groups), optimizer.kind(), optimizer.group_count(),
       kind == optimizer.kind() ? "; htone_optimizer_load_options: strict=0 and keep_settings=1 load the moments" : "");
}

}  // namespace

StateDict state_of(const Optimizer& optimizer) {
  if (optimizer.gradients().order().is_unscaled())
    fail(Code::kState, "optimizer", "the optimizer is between unscale and step or update");
  StateDict state = moments_of(optimizer);
  add_code_version(state);
  state.add("kind", std::string(optimizer.kind()));
  state.add("step", optimizer.step_count());
  state.add("groups", static_cast<int64_t>(optimizer.group_count()));
  for (size_t group = 0; group < optimizer.group_count(); ++group) {
    for (const auto& [name, value] : optimizer.group_numbers(group)) state.add(of_group(group, name), value);
  }
  const std::vector<int64_t> counts = optimizer.update_counts();
  for (size_t i = 0; i < counts.size(); ++i) state.add(count_name(optimizer, i), counts[i]);
  if (const Ref<PlateauSchedule> plateau = plateau_of(optimizer)) add_plateau(state, plateau->state());
  if (const MeanNorm mean = optimizer.gradients().mean_norm(); mean.count > 0) {
    state.add("norm_guard.mean", mean.mean);
    state.add("norm_guard.count", mean.count);
  }
  return state;
}

namespace {

void stage_settings(StagedLoad& load, Optimizer& optimizer, size_t group, const StateDict& state) {
  std::vector<double> numbers;
  for (const auto& [name, own] : optimizer.group_numbers(group)) {
    numbers.push_back(scalar_in<double>(state, of_group(group, name)));
  }
  load.add(optimizer.stage_group_numbers(group, numbers));
}

// States of earlier versions have the step before which a group was added, and no counts: then a parameter counts the
// steps since. Where their number of groups differs, that of the last one holds.
int64_t saved_updates(const Optimizer& optimizer, size_t parameter, const StateDict& state, int64_t step) {
  const std::string name = count_name(optimizer, parameter);
  const int64_t groups = std::max<int64_t>(1, count_in(state, "groups"));
  const int64_t group = std::min<int64_t>(optimizer.parameters()[parameter].group(), groups - 1);
  const std::string first_step = of_group(static_cast<size_t>(group), "first_step");
  const bool is_counted = state.find_scalar(name) != nullptr || state.find_scalar(first_step) == nullptr;
  const int64_t count = is_counted ? count_in(state, name) : step - count_in(state, first_step);
  if (count >= 0 && count <= step) return count;
  fail(Code::kFormat, "", "%s=%lld does not fit step=%lld", is_counted ? name.c_str() : first_step.c_str(),
       static_cast<long long>(is_counted ? count : step - count), static_cast<long long>(step));
}

void stage_zeros(StagedLoad& load, const StateTensor& target) {
  if (!target.reader) return load.add([live = target.tensor] { fill(live, 0.0); });
  const Tensor zeros = full(target.reader->device(), target.dtype(), target.shape(), 0.0);
  load.add([reader = target.reader, zeros] { reader->as_store()->write(zeros); });
}

// Those moments that the state has. The others begin with zeros.
StagedLoad stage_moments(const StateDict& targets, const ParameterMatch& saved) {
  StagedLoad load;
  StateDict known;
  for (const StateTensor& target : targets.tensors()) {
    if (saved.has(target.name)) {
      known.add_entry(target.name, target);
    } else {
      stage_zeros(load, target);
    }
  }
  load.append(stage_copy(known, in_codes_of(known, saved.renamed())));
  return load;
}

// The updates that each parameter has had; 0 for one without saved moments, which begins anew.
std::vector<int64_t> counts_in(const Optimizer& optimizer, const StateDict& state, const ParameterMatch& saved,
                               bool strict, int64_t step) {
  const StateDict renamed = strict ? state : saved.renamed();
  std::vector<int64_t> counts;
  for (size_t i = 0; i < optimizer.parameters().size(); ++i) {
    const bool is_fresh = !strict && !saved.has(count_name(optimizer, i));
    counts.push_back(is_fresh ? 0 : saved_updates(optimizer, i, renamed, step));
  }
  return counts;
}

}  // namespace

LoadReport compare_parameters(const Optimizer& optimizer, const StateDict& state) {
  return ParameterMatch(moments_of(optimizer), state).report();
}

StagedLoad stage_state(Optimizer& optimizer, const StateDict& state, const LoadOptions& options, LoadReport* report) {
  if (optimizer.gradients().order().is_unscaled())
    fail(Code::kState, "optimizer", "the optimizer is between unscale and step or update");
  require_same_kind(optimizer, state, options);
  const int64_t step = count_in(state, "step");
  const StateDict targets = moments_of(optimizer);
  const ParameterMatch saved(targets, state);
  options.strict ? saved.require_same() : saved.require_distinct();
  if (report != nullptr) *report = saved.report();
  StagedLoad load = options.strict ? stage_copy(targets, in_codes_of(targets, state)) : stage_moments(targets, saved);
  for (size_t group = 0; !options.keep_settings && group < optimizer.group_count(); ++group) {
    stage_settings(load, optimizer, group, state);
  }
  load.add([&optimizer, step, counts = counts_in(optimizer, state, saved, options.strict, step)] {
    optimizer.set_step_count(step);
    optimizer.set_update_counts(counts);
  });
  if (!options.keep_settings) stage_plateau(load, optimizer, state);
  stage_mean_norm(load, optimizer, state);
  return load;
}

StateDict state_of(const GradScaler& scaler) {
  if (scaler.awaits_update()) fail(Code::kState, "scaler", "the scaler waits for its update");
  const ScalerState scaler_state = scaler.state();
  StateDict state;
  state.add("scale", static_cast<double>(scaler_state.scale));
  state.add("growth_tracker", scaler_state.growth_tracker);
  state.add("hysteresis_left", static_cast<int64_t>(scaler_state.hysteresis_left));
  state.add("ceiling", static_cast<double>(scaler_state.ceiling));
  state.add("bound", scaler_state.bound);
  return state;
}

StagedLoad stage_state(GradScaler& scaler, const StateDict& state) {
  if (scaler.awaits_update()) fail(Code::kState, "scaler", "the scaler waits for its update");
  ScalerState loaded;
  loaded.scale = scale_in(state, "scale", kSmallestScale);
  loaded.growth_tracker = count_in(state, "growth_tracker");
  loaded.hysteresis_left = static_cast<int32_t>(std::min<int64_t>(count_in(state, "hysteresis_left"), INT32_MAX));
  loaded.ceiling = scale_in(state, "ceiling", 0.0);
  loaded.bound = bound_in(state);
  StagedLoad load;
  load.add([&scaler, loaded] { scaler.set_state(loaded); });
  return load;
}

StateDict state_of(const Ema& ema) {
  StateDict state = averages_of(ema);
  state.add("updates", ema.update_count());
  state.add("parameters", static_cast<int64_t>(ema.size()));
  return state;
}

StagedLoad stage_state(Ema& ema, const StateDict& state) {
  const StateDict averages = averages_of(ema);
  const int64_t updates = count_in(state, "updates");
  const int64_t parameters = count_in(state, "parameters");
  if (static_cast<size_t>(parameters) != ema.size()) {
    fail(Code::kFormat, "", "it averages %lld parameters, expected %zu", static_cast<long long>(parameters),
         ema.size());
  }
  StagedLoad load = stage_copy(averages, state);
  load.add([&ema, updates] { ema.set_update_count(updates); });
  return load;
}

}  // namespace halftone::optim
