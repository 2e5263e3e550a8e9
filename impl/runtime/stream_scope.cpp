#include "runtime/stream_scope.h"

#include "core/error.h"

namespace halftone {

namespace {

Event* new_event(ContextDevice& device) {
  Event* event = nullptr;
  check(device.device->create_event(&event));
  return event;
}

}  // namespace

StreamScope::StreamScope(ContextDevice& device, Stream& stream)
    : device_(device), stream_(stream), event_(new_event(device)), innermost_(this) {}

StreamScope::~StreamScope() { event_->destroy(); }

void StreamScope::follow_default_stream() {
  check(event_->record(device_.device->stream()));
  check(event_->wait_on(stream_));
}

}  // namespace halftone
