#include "trainer/checkpoint.h"

#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace halftone::trainer {

namespace {

constexpr const char* kSequences = "streams";  // the name in the files

void require_step(int64_t step) {
  if (step < 0) fail(Code::kInvalidArgument, "step", "step=%lld is below 0", static_cast<long long>(step));
}

// A resumed run must draw the same random numbers as one that never stopped.
StatePart random_part(const Ref<Context>& context) {
  const auto read = [context] {
    StateDict state;
    state.add(kSequences, static_cast<int64_t>(context->sequences_taken()));
    return state;
  };
  const auto stage = [context](const StateDict& state) -> StagedLoad {
    const StateScalar* sequences = state.find_scalar(kSequences);
    if (sequences == nullptr || !std::holds_alternative<int64_t>(*sequences)) {
      fail(Code::kFormat, "", "the count of random sequences is missing");
    }
    return [context, taken = std::get<int64_t>(*sequences)] {
      context->set_sequences_taken(static_cast<uint64_t>(taken));
    };
  };
  return {.name = "random", .read = read, .stage = stage};
}

}  // namespace

Checkpoint::Checkpoint(Ref<Context> context, const std::string& directory)
    : context_(std::move(context)), directory_(context_->io(), context_->clock(), directory) {
  state_.add(random_part(context_));
}

void Checkpoint::save(int64_t step) {
  require_step(step);
  directory_.save(step, state_.read());
}

void Checkpoint::verify(int64_t step) const {
  require_step(step);
  directory_.verify(step);
}

int64_t Checkpoint::latest() const {
  const std::vector<int64_t> steps = directory_.steps();
  return steps.empty() ? -1 : steps.back();
}

int64_t Checkpoint::load() {
  const auto loaded = directory_.load_latest(context_->device("cpu"));
  if (!loaded) return -1;
  for (int64_t step : loaded->damaged) {
    log_warning("the checkpoint of step %lld is damaged; that of step %lld is loaded", static_cast<long long>(step),
                static_cast<long long>(loaded->step));
  }
  state_.load(loaded->state);
  return loaded->step;
}

}  // namespace halftone::trainer
