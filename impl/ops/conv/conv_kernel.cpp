#include "ops/conv/conv_kernel.h"

#include "ops/conv/window.h"
#include "ops/dispatch/workspace.h"
#include "tensor/launch.h"

namespace halftone {

void run_conv(const ConvCall& call, ConvPass pass, ContextDevice& device, ConvArgs args) {
  const ConvKernels& conv = device.device->kernels().conv;
  if (conv.run == nullptr || conv.workspace == nullptr) fail_not_implemented(call.operation, *device.device);
  const TraceSpan span(TraceKind::kOperation, call.operation);
  for (View* view : {&args.input, &args.weight, &args.output}) *view = as_image(*view);
  args.window = call.window;
  args.groups = call.groups;
  Stream& stream = current_stream(device);
  const Workspace workspace(device, conv.workspace(stream, pass, args));
  check(conv.run(stream, pass, args, workspace.data()));
}

}  // namespace halftone
