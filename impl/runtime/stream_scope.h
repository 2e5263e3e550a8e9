// Queues a thread's work on another stream than the device's default one. The switch belongs to the thread: two threads
// may work on one device with a stream each, and kernels need no further argument for the stream.
//
// The memory that a tensor gets inside a scope is safe: the scope's stream runs behind the memory's earlier use, and
// the memory is used again only when the stream has finished with it. Everything else needs events and
// Storage::record_stream: tensors from outside that the scope reads, and its results where another stream reads them.
#pragma once

#include "core/thread.h"
#include "runtime/context_device.h"

namespace halftone {

class StreamScope {
 public:
  // Throws OUT_OF_MEMORY. REQUIRES: `stream` belongs to the device and exists until every tensor made in the scope is
  // released. Scopes of a thread end in the opposite order of their creation.
  StreamScope(ContextDevice& device, Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

  Stream& stream() const noexcept { return stream_; }
  // Work that this scope queues from now on runs behind the default stream's work so far.
  void follow_default_stream();

  // This thread's innermost scope of the device, or null.
  static StreamScope* innermost(const ContextDevice& device) noexcept {
    StreamScope* scope = thread().stream_scope;
    while (scope != nullptr && &scope->device_ != &device) scope = scope->innermost_.outer();
    return scope;
  }

 private:
  ContextDevice& device_;
  Stream& stream_;
  Event* const event_;
  const ThreadGuard<&Thread::stream_scope> innermost_;
};

// The stream for this thread's work on the device.
inline Stream& current_stream(const ContextDevice& device) noexcept {
  const StreamScope* scope = StreamScope::innermost(device);
  return scope != nullptr ? scope->stream() : device.device->stream();
}

}  // namespace halftone
