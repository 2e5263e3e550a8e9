#include "optim/recorded_update.h"

#include <utility>

#include "autograd/weights/weights.h"
#include "core/error.h"

namespace halftone::optim {
namespace {

const void* address_of(const Tensor& tensor) { return tensor.defined() ? tensor.data() : nullptr; }

}  // namespace

Schedule RecordedUpdate::schedule(const ScheduleRule& rule) {
  if (number_ >= 0) {
    fail(Code::kState, "optimizer", "optimizer steps twice in a graph, and its schedule is computed for each step");
  }
  number_ = step_.add_number();
  rule_ = rule;
  Schedule result = rule.schedule;
  result.given = step_.number_on_device(number_);
  return result;
}

// The function would drop the remainder in its first run, and a replay would do so in each.
void RecordedUpdate::add(Parameter& parameter) {
  const Weights& weights = parameter.weights();
  if (weights.is_split() && !weights.is_current()) {
    fail(Code::kState, "optimizer", "parameter %s was written since the last step; step once before the capture",
         parameter.name());
  }
  updated_.push_back({.parameter = Ref<Parameter>::share(&parameter),
                      .kept = address_of(weights.kept()),
                      .compute = address_of(weights.compute()),
                      .was_current = weights.is_current()});
}

void RecordedUpdate::upload_later(std::function<void()> upload, std::function<void()> drop) {
  upload_ = std::move(upload);
  drop_ = std::move(drop);
}

void RecordedUpdate::check() const {
  for (const Updated& entry : updated_) {
    const Weights& weights = entry.parameter->weights();
    if (entry.kept == address_of(weights.kept()) && entry.compute == address_of(weights.compute())) continue;
    fail(Code::kState, "", "parameter %s has other memory than when the graph was captured; capture again",
         entry.parameter->name());
  }
}

void RecordedUpdate::prepare() {
  if (upload_) upload_();
  upload_ = drop_ = nullptr;
  for (const Updated& entry : updated_) entry.parameter->weights().drop_stale_remainder();
  if (number_ >= 0) step_.set_number(number_, rule_.at(position_()).final_factor);
}

void RecordedUpdate::settle() noexcept {
  for (const Updated& entry : updated_) entry.parameter->weights().mark_current();
}

// The weights are as before, so copies that were current still are; others must not count as current.
void RecordedUpdate::abandon() noexcept {
  if (drop_) drop_();
  for (const Updated& entry : updated_) {
    if (entry.was_current) {
      entry.parameter->weights().mark_current();
    } else {
      entry.parameter->weights().mark_updated();
    }
  }
}

}  // namespace halftone::optim
