#include "runtime/stream_scope.h"

#include "core/error.h"

namespace halftone {

StreamScope::StreamScope(ContextDevice& device, Stream& stream) : device_(device), stream_(stream), outer_(innermost_) {
  check(device.device->create_event(&event_));
  innermost_ = this;
}

StreamScope::~StreamScope() {
  innermost_ = outer_;
  event_->destroy();
}

void StreamScope::follow_default_stream() {
  check(event_->record(device_.device->stream()));
  check(event_->wait_on(stream_));
}

}  // namespace halftone
