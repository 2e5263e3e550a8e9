#include "ops/gemm/gemm.h"

#include <utility>

#include "ops/dispatch/store_gradient.h"
#include "ops/dispatch/workspace.h"
#include "tensor/launch.h"

namespace halftone {

void run_gemm(const char* operation, ContextDevice& device, const GemmArgs& args) {
  const GemmKernels& gemm = device.device->kernels().gemm;
  if (gemm.run == nullptr || gemm.schedule == nullptr) fail_not_implemented(operation, *device.device);
  const TraceSpan span(TraceKind::kOperation, operation);
  Stream& stream = current_stream(device);
  const GemmSchedule schedule = gemm.schedule(stream, args);
  const Workspace workspace(device, schedule.workspace);
  check(gemm.run(stream, args, schedule, workspace.data()));
}

bool fuses_argument(ContextDevice& device, const GemmArgs& args) {
  const GemmKernels& gemm = device.device->kernels().gemm;
  return gemm.schedule != nullptr && gemm.schedule(current_stream(device), args).fuses_argument;
}

View transposed(const View& matrix) {
  View view = matrix;
  const int last = view.rank() - 1;
  std::swap(view.shape[last], view.shape[last - 1]);
  std::swap(view.strides[last], view.strides[last - 1]);
  return view;
}

void set_gemm_grad(const char* operation, InputGrads& inputs, int input, const View& a, const View& b, DType dtype,
                   ContextDevice& device) {
  const Shape shape = {a.shape[0], b.shape[1]};
  store_gradient(inputs, input, shape, dtype, device, {a, b}, [&](const Tensor& out, Store store) {
    run_gemm(operation, device, {.a = a, .b = b, .store = store, .c = out.view()});
  });
}

}  // namespace halftone
