#include "runtime/stream_uses.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace halftone {

StreamUses& StreamUses::operator=(StreamUses&& other) noexcept {
  std::swap(uses_, other.uses_);
  return *this;
}

StreamUses::~StreamUses() {
  for (const Use& use : uses_) use.event->destroy();
}

void StreamUses::add(Device& device, Stream& stream) {
  const auto is_known = [&](const Use& use) { return use.stream == &stream; };
  if (std::any_of(uses_.begin(), uses_.end(), is_known)) return;
  uses_.reserve(uses_.size() + 1);
  Event* event = nullptr;
  check(device.create_event(&event));
  uses_.push_back({&stream, event});
}

void StreamUses::record() noexcept {
  for (const Use& use : uses_) {
    if (!use.event->record(*use.stream).ok()) (void)use.stream->synchronize();
  }
}

bool StreamUses::are_reached() const noexcept {
  return std::all_of(uses_.begin(), uses_.end(), [](const Use& use) {
    bool is_reached = false;
    return use.event->is_reached(&is_reached).ok() && is_reached;
  });
}

Status StreamUses::wait() const noexcept {
  Status first;
  for (const Use& use : uses_) {
    const Status status = use.event->synchronize();
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace halftone
