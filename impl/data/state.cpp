#include "data/state.h"

#include "core/error.h"

namespace halftone::data {

namespace {

// The settings that determine the order of samples.
struct Setting {
  const char* name;
  int64_t value;
};

std::vector<Setting> settings_of(const SamplerOptions& options) {
  return {{"count", options.count},
          {"batch_size", options.batch_size},
          {"seed", static_cast<int64_t>(options.seed)},
          {"shuffle", options.shuffle ? 1 : 0},
          {"drop_last", options.drop_last ? 1 : 0},
          {"world_size", options.world_size},
          {"part", static_cast<int64_t>(options.split.part)},
          {"validation_count", options.split.validation_count},
          {"split_seed", static_cast<int64_t>(options.split.seed)}};
}

int64_t integer_in(const StateDict& state, const char* name) {
  const StateScalar* scalar = state.find_scalar(name);
  if (scalar == nullptr || !std::holds_alternative<int64_t>(*scalar)) {
    fail(Code::kFormat, "", "the sampler's %s is missing", name);
  }
  return std::get<int64_t>(*scalar);
}

}  // namespace

StateDict state_of(const Sampler& sampler) {
  StateDict state;
  state.add("cursor", sampler.cursor());
  for (const Setting& setting : settings_of(sampler.options())) state.add(setting.name, setting.value);
  return state;
}

StagedLoad stage_state(Sampler& sampler, const StateDict& state) {
  for (const Setting& setting : settings_of(sampler.options())) {
    const int64_t saved = integer_in(state, setting.name);
    if (saved == setting.value) continue;
    fail(Code::kFormat, "", "it was saved with %s=%lld, the sampler has %lld", setting.name,
         static_cast<long long>(saved), static_cast<long long>(setting.value));
  }
  const int64_t cursor = integer_in(state, "cursor");
  if (cursor < 0 || cursor > kLargestCount) {
    fail(Code::kFormat, "", "cursor=%lld is no count of batches", static_cast<long long>(cursor));
  }
  StagedLoad load;
  load.add([&sampler, cursor] { sampler.set_cursor(cursor); });
  return load;
}

}  // namespace halftone::data
