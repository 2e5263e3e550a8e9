#include "cuda/gemm/lt_multiply.h"

#include <utility>

#include "cuda/base/current_device.h"
#include "cuda/gemm/lt_call.h"
#include "cuda/gemm/lt_handle.h"

namespace halftone::cuda {
namespace {

LtPointers in_places(LtPointers pointers, const LtProblem& problem) {
  if (problem.is_swapped != 0) {
    std::swap(pointers.a, pointers.b);
    std::swap(pointers.scale_a, pointers.scale_b);
  }
  return pointers;
}

// alpha or beta, which is a double for f64.
class Factor {
 public:
  Factor(double value, const LtProblem& problem)
      : wide_(value), narrow_(static_cast<float>(value)), is_wide_(problem.type == CUDA_R_64F) {}
  const void* pointer() const { return is_wide_ ? static_cast<const void*>(&wide_) : &narrow_; }

 private:
  double wide_;
  float narrow_;
  bool is_wide_;
};

}  // namespace

Status multiply_lt(Stream& stream, const LtProblem& problem, const LtPointers& given, const LtChoice& choice,
                   void* scratch) noexcept {
  const DeviceState& device = device_of(stream);
  const CurrentDevice current(device.index);
  const LtPointers pointers = in_places(given, problem);
  const LtCall call(*lt_functions(), problem, pointers);
  if (!call.is_complete()) return Status::failure(Code::kOutOfMemory, "no memory to describe a matrix product");
  const Factor alpha(1, problem), beta(problem.adds != 0 ? 1 : 0, problem);
  const cublasStatus_t status =
      lt_functions()->multiply(device.lt->native(), call.description(), alpha.pointer(), pointers.a, call.a(),
                               pointers.b, call.b(), beta.pointer(), pointers.c, call.c(), pointers.d, call.d(),
                               &choice.algorithm, scratch, choice.workspace, native(stream));
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  Status failed = Status::failure(Code::kDevice, "cublasLtMatmul: status %d", static_cast<int>(status));
  failed.native_code = static_cast<int32_t>(status);
  return failed;
}

}  // namespace halftone::cuda
