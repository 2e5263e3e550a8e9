#include "cuda/dnn/functions.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <cstdio>

#include "core/library_function.h"
#include "cuda/base/warning.h"

// Tests name another one.
#ifndef HALFTONE_CUDNN_NAME
#define HALFTONE_CUDNN_NAME "libcudnn.so.9"
#endif

namespace halftone::cuda {
namespace {

// Versions are major * 10000 + minor * 100 + patch; up to cuDNN 8 they were major * 1000 + minor * 100 + patch.
constexpr size_t kOldestVersion = 90000;

bool find_descriptors(void* library, DnnFunctions& out) noexcept {
  return find_function(library, "cudnnCreateTensorDescriptor", out.create_tensor) &&
         find_function(library, "cudnnSetTensor4dDescriptor", out.set_tensor) &&
         find_function(library, "cudnnDestroyTensorDescriptor", out.destroy_tensor) &&
         find_function(library, "cudnnCreateFilterDescriptor", out.create_filter) &&
         find_function(library, "cudnnSetFilter4dDescriptor", out.set_filter) &&
         find_function(library, "cudnnDestroyFilterDescriptor", out.destroy_filter) &&
         find_function(library, "cudnnCreateConvolutionDescriptor", out.create_convolution) &&
         find_function(library, "cudnnSetConvolution2dDescriptor", out.set_convolution) &&
         find_function(library, "cudnnSetConvolutionMathType", out.set_math) &&
         find_function(library, "cudnnSetConvolutionGroupCount", out.set_groups) &&
         find_function(library, "cudnnDestroyConvolutionDescriptor", out.destroy_convolution) &&
         find_function(library, "cudnnCreateActivationDescriptor", out.create_activation) &&
         find_function(library, "cudnnSetActivationDescriptor", out.set_activation) &&
         find_function(library, "cudnnDestroyActivationDescriptor", out.destroy_activation);
}

bool find_convolutions(void* library, DnnFunctions& out) noexcept {
  return find_function(library, "cudnnGetConvolutionForwardAlgorithm_v7", out.find_forward) &&
         find_function(library, "cudnnGetConvolutionBackwardDataAlgorithm_v7", out.find_grad_input) &&
         find_function(library, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", out.find_grad_weight) &&
         find_function(library, "cudnnGetConvolutionForwardWorkspaceSize", out.size_forward) &&
         find_function(library, "cudnnGetConvolutionBackwardDataWorkspaceSize", out.size_grad_input) &&
         find_function(library, "cudnnGetConvolutionBackwardFilterWorkspaceSize", out.size_grad_weight) &&
         find_function(library, "cudnnConvolutionForward", out.forward) &&
         find_function(library, "cudnnConvolutionBiasActivationForward", out.forward_with_bias) &&
         find_function(library, "cudnnConvolutionBackwardData", out.grad_input) &&
         find_function(library, "cudnnConvolutionBackwardFilter", out.grad_weight);
}

bool find_all(void* library, DnnFunctions& out) noexcept {
  return find_function(library, "cudnnGetErrorString", out.get_error_string) &&
         find_function(library, "cudnnCreate", out.create) && find_function(library, "cudnnDestroy", out.destroy) &&
         find_function(library, "cudnnSetStream", out.set_stream) && find_descriptors(library, out) &&
         find_convolutions(library, out);
}

// Returns what is wrong with a library, or null.
const char* find_reason(void* library, DnnFunctions& out) noexcept {
  if (library == nullptr) return "cannot be loaded";
  if (!find_function(library, "cudnnGetVersion", out.get_version)) return "is another library";
  if (out.get_version() < kOldestVersion) return "is older than cuDNN 9.0";
  return find_all(library, out) ? nullptr : "lacks functions of cuDNN 9.0";
}

void warn_once(const char* name, const char* reason) noexcept {
  static std::atomic<bool> is_said{false};
  if (is_said.exchange(true)) return;
  char text[256];
  std::snprintf(text, sizeof text, "convolutions on GPUs run without cuDNN: %.128s %s", name, reason);
  warn(text);
}

}  // namespace

const char* open_dnn(const char* name, DnnFunctions* out) noexcept {
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  const char* reason = find_reason(library, *out);
  if (reason != nullptr && library != nullptr) dlclose(library);
  return reason;
}

// secure_getenv: a setuid program must not trust its environment.
bool open_dnn(DnnFunctions* out) noexcept {
  const char* chosen = secure_getenv("HALFTONE_CUDNN_LIBRARY");
  const char* name = chosen != nullptr ? chosen : HALFTONE_CUDNN_NAME;
  if (name[0] == '\0') return false;
  const char* reason = open_dnn(name, out);
  if (reason != nullptr) warn_once(name, reason);
  return reason == nullptr;
}

}  // namespace halftone::cuda
