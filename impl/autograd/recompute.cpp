#include "autograd/recompute.h"

#include <algorithm>

#include "autograd/scope.h"
#include "core/error.h"

namespace halftone {

namespace {

// "f32 [2, 3]"
std::string form_of(DType dtype, const Shape& shape) {
  return std::string(name_of(dtype)).append(" ").append(ShapeText(shape).text);
}

}  // namespace

RecomputePass::RecomputePass(const Ref<RecomputeRegion>& region)
    : region_(region), current_(this), tape_(region->keys_, KeyTape::Mode::kRecord) {
  region->is_running_ = true;
}

RecomputePass::RecomputePass(const Ref<RecomputeRegion>& region, std::vector<SavedValue>& made)
    : region_(region),
      made_(&made),
      current_(this),
      tape_(region->keys_, KeyTape::Mode::kReplay),
      missing_(region->made_count_) {
  region->is_running_ = true;
}

RecomputePass::~RecomputePass() { region_->is_running_ = false; }

bool RecomputePass::takes(const SavedValue& value, uint64_t& index) {
  index = count_++;
  return is_second() ? takes_second(value) : takes_first(value.tensor);
}

// A tensor that was there before the forward stays alive without the node, or is an input, which the region keeps. The
// node keeps it, so that a write to it between forward and backward is found.
bool RecomputePass::takes_first(const Tensor& tensor) {
  const bool is_kept = !mark_.covers(*tensor.storage());
  region_->slots_.push_back({.is_kept = is_kept, .dtype = tensor.dtype(), .shape = tensor.shape()});
  if (!is_kept) ++region_->made_count_;
  return !is_kept;
}

// The difference is told when the forward has ended: an error here would pass through callbacks of the caller.
bool RecomputePass::takes_second(const SavedValue& value) {
  const size_t index = count_ - 1;
  if (index >= region_->slots_.size()) return false;
  const RecomputeRegion::Slot& slot = region_->slots_[index];
  const Tensor& tensor = value.tensor;
  if (difference_.empty() && (slot.dtype != tensor.dtype() || !(slot.shape == tensor.shape()))) {
    difference_ = "saved tensor " + std::to_string(index) + " is " + form_of(tensor.dtype(), tensor.shape()) +
                  " and was " + form_of(slot.dtype, slot.shape);
  }
  if (slot.is_kept) return false;
  (*made_)[index] = value;
  if (--missing_ == 0 && difference_.empty() && region_->may_stop_early()) throw AllMadeAgain();
  return true;
}

void RecomputePass::require_same() const {
  std::string difference = difference_;
  if (difference.empty() && count_ != region_->slots_.size()) {
    difference =
        std::to_string(count_) + " tensors were saved for backward, not " + std::to_string(region_->slots_.size());
  }
  if (difference.empty() && !tape_.is_at_end()) difference = "another number of random tensors was drawn";
  if (difference.empty()) return;
  fail(Code::kState, "tensor", "the forward of %s is not the same twice, as recomputing it requires: %s",
       region_->place().c_str(), difference.c_str());
}

void keep_costly_result(const Tensor& result) noexcept {
  const RecomputePass* const pass = scope().recompute;
  if (pass != nullptr && pass->region()->keeps_costly_results()) result.storage()->leave_mark();
}

bool is_recomputing() noexcept { return scope().recompute != nullptr && scope().recompute->is_second(); }

const SavedValue& RecomputedTensors::get(const Ref<RecomputeRegion>& region, uint64_t index) {
  Entry& entry = entry_of(region);
  if (entry.values.empty() || !entry.values[index].tensor.defined()) fill(entry);
  taken_.push_back(&entry.values[index]);
  return entry.values[index];
}

RecomputedTensors::Entry& RecomputedTensors::entry_of(const Ref<RecomputeRegion>& region) {
  for (Entry& entry : entries_) {
    if (entry.region == region) return entry;
  }
  // No node refers to these any more, so they only take memory.
  std::erase_if(entries_, [](const Entry& entry) { return entry.region->reference_count() == 1; });
  entries_.push_back({.region = region, .values = {}});
  return entries_.back();
}

void RecomputedTensors::fill(Entry& entry) {
  std::vector<SavedValue> made = made_again(entry.region);
  if (entry.values.empty()) entry.values.resize(made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    if (!entry.values[i].tensor.defined()) entry.values[i] = std::move(made[i]);
  }
}

void RecomputedTensors::end_node() noexcept {
  for (SavedValue* value : taken_) value->tensor = Tensor();
  taken_.clear();
}

// Recording is on as it was in the first run, or there would be no region.
std::vector<SavedValue> RecomputedTensors::made_again(const Ref<RecomputeRegion>& region) {
  if (!region->is_complete_ || region->is_running_) {
    fail(Code::kState, "tensor", "backward needs a tensor of %s, which is recomputed, while its forward has not ended",
         region->place().c_str());
  }
  region->require_unchanged();
  std::vector<SavedValue> made(region->slots_.size());
  const ScopeGuard restore;
  Scope& current = scope();
  current.grad_enabled = true;
  current.in_backward = false;
  current.engine = nullptr;
  current.node = nullptr;
  current.recomputed = nullptr;
  const RecomputePass pass(region, made);
  try {
    region->run_again();
  } catch (const AllMadeAgain&) {
    return made;
  }
  pass.require_same();
  return made;
}

}  // namespace halftone
