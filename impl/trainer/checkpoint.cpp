#include "trainer/checkpoint.h"

#include <cstdio>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace halftone::trainer {

namespace {

void require_step(int64_t step) {
  if (step < 0) fail(Code::kInvalidArgument, "step", "step=%lld is below 0", static_cast<long long>(step));
}

}  // namespace

Checkpoint::Checkpoint(Ref<Context> context, const std::string& directory)
    : context_(std::move(context)), directory_(context_->io(), context_->clock(), directory) {
  state_.add("random", context_);
}

void Checkpoint::save(int64_t step) {
  require_step(step);
  if (is_partly_loaded_) {
    fail(Code::kState, "checkpoint", "a load failed half-way, so the state is a mix of two; load again before a save");
  }
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
  StagedLoad load = state_.stage(loaded->state);
  load.prepare();
  commit(load);
  return loaded->step;
}

void Checkpoint::commit(const StagedLoad& load) {
  is_partly_loaded_ = true;
  try {
    load.commit();
  } catch (const Error& error) {
    char message[Error::kMessageCapacity];
    std::snprintf(message, sizeof message, "the state was partly loaded and must be loaded again: %.390s",
                  error.what());
    throw Error(error.code(), error.native_code(), error.argument(), message);
  }
  is_partly_loaded_ = false;
}

}  // namespace halftone::trainer
