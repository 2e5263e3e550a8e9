// Calls a backend's kernel: the only way to one from the layers above. Looks up the table entry, reports a missing one
// with the operation's and the device's name, and turns a failed status into an Error. A trace shows the time of
// each call under the operation's name, which lives as long as the process.
#pragma once

#include "backend/kernels/kernels.h"
#include "core/error.h"
#include "core/trace.h"
#include "runtime/stream_scope.h"

namespace halftone {

[[noreturn]] inline void fail_not_implemented(const char* operation, const Device& device) {
  fail(Code::kUnsupported, "", "%s is not implemented on %s", operation, device.name());
}

// launch("relu", device, &Kernels::elementwise, &ElementwiseKernels::unary, UnaryOp::kRelu, x.view(), out.view())
template <class Group, class Entry, class... Arguments>
void launch(const char* operation, const ContextDevice& device, Group Kernels::*group, Entry Group::*entry,
            const Arguments&... arguments) {
  Device& target = *device.device;
  const Entry kernel = target.kernels().*group.*entry;
  if (kernel == nullptr) [[unlikely]]
    fail_not_implemented(operation, target);
  const TraceSpan span(TraceKind::kOperation, operation);
  check(kernel(current_stream(device), arguments...));
}

}  // namespace halftone
