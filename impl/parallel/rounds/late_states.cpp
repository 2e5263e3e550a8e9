#include "parallel/rounds/late_states.h"

#include "core/error.h"
#include "runtime/stream_scope.h"

namespace halftone::parallel {

LateStates::~LateStates() {
  for (const Copy& copy : under_way_) destroy(copy);
  for (const Copy& copy : free_) destroy(copy);
}

void LateStates::destroy(const Copy& copy) noexcept {
  if (copy.arrived != nullptr) copy.arrived->destroy();
  if (copy.states != nullptr) device_.device->deallocate_pinned(copy.states, bytes());
}

LateStates::Copy LateStates::make_copy() {
  if (free_.empty()) {
    free_.emplace_back();
    void* memory = nullptr;
    halftone::check(device_.device->allocate_pinned(bytes(), &memory));
    free_.back().states = static_cast<float*>(memory);
    halftone::check(device_.device->create_event(&free_.back().arrived));
  }
  const Copy copy = free_.back();
  free_.pop_back();
  return copy;
}

void LateStates::add(uint64_t number, const Tensor& states, int32_t factor) {
  under_way_.push_back(make_copy());
  Copy& copy = under_way_.back();
  copy.number = number;
  copy.factor = factor;
  Stream& stream = current_stream(device_);
  halftone::check(device_.device->copy_to_host(stream, copy.states, states.data(), bytes()));
  halftone::check(copy.arrived->record(stream));
}

void LateStates::check() {
  while (!under_way_.empty()) {
    bool has_arrived = false;
    halftone::check(under_way_.front().arrived->is_reached(&has_arrived));
    if (!has_arrived) return;
    free_.push_back(under_way_.front());
    under_way_.pop_front();
    require_success(free_.back());
  }
}

void LateStates::require_success(const Copy& copy) const {
  const auto number = static_cast<unsigned long long>(copy.number);
  const auto status_of = [&](int32_t rank) {
    return RankStatus::of(copy.states + static_cast<size_t>(rank) * RankStatus::kNumbers, copy.factor);
  };
  int32_t first = -1;  // rank with settings
  for (int32_t rank = 0; rank < size_; ++rank) {
    const auto [state, digest] = status_of(rank);
    if (first < 0 && digest != 0) first = rank;
    if (digest != 0 && digest != status_of(first).digest) {
      fail(Code::kComm, "",
           "backward %llu: ranks %d and %d have optimizers of other settings or steps, or batches of other sizes",
           number, first, rank);
    }
    if (rank == rank_ || (state & (kFailed | kMissing)) == 0) continue;
    if ((state & kFailed) != 0) {
      fail(Code::kComm, "", "backward %llu of rank %d failed, so that the gradients of all ranks were not reduced",
           number, rank);
    }
    fail(Code::kState, "", "backward %llu of rank %d reached no gradient of some parameters, which its error names",
         number, rank);
  }
}

}  // namespace halftone::parallel
