#include "ops/matmul/gemm.h"

#include <utility>

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

void run_gemm(const char* operation, ContextDevice& device, const GemmArgs& args) {
  const GemmKernels& gemm = device.device->kernels().gemm;
  if (gemm.run == nullptr || gemm.workspace == nullptr) fail_not_implemented(operation, *device.device);
  Stream& stream = device.device->stream();
  // Work on one stream runs in order, so the block may serve the next request while this call is still queued.
  const Ref<Storage> workspace = Storage::allocate(device, gemm.workspace(stream, args), Category::kWorkspace);
  check(gemm.run(stream, args, workspace->data()));
}

View transposed(const View& matrix) {
  View view = matrix;
  const int last = view.rank() - 1;
  std::swap(view.shape[last], view.shape[last - 1]);
  std::swap(view.strides[last], view.strides[last - 1]);
  return view;
}

bool can_store_into(const GradSink& sink, const View& source, DType dtype) {
  if (!sink.tensor.defined()) return false;
  if ((sink.tensor.dtype() == DType::kF64) != (dtype == DType::kF64)) return false;
  const auto* begin = static_cast<const char*>(sink.tensor.data());
  const auto* end = begin + sink.tensor.numel() * static_cast<int64_t>(size_of(sink.tensor.dtype()));
  const auto* read = static_cast<const char*>(source.data);
  return read < begin || read >= end;
}

void set_gemm_grad(const char* operation, InputGrads& inputs, int input, const View& a, const View& b, DType dtype,
                   ContextDevice& device) {
  const GradSink sink = inputs.sink(input);
  if (can_store_into(sink, a, dtype) && can_store_into(sink, b, dtype)) {
    run_gemm(operation, device, {.a = a, .b = b, .store = sink.store, .c = sink.tensor.view()});
    return inputs.stored(input);
  }
  const Tensor grad = empty(device, dtype, {a.shape[0], b.shape[1]});
  run_gemm(operation, device, {.a = a, .b = b, .c = grad.view()});
  inputs.set(input, grad);
}

}  // namespace halftone
