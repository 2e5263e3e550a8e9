// cuDNN with plain loops, on the emulated CUDA runtime. The plugin opens it as it opens NVIDIA's. It refuses what cuDNN
// refuses: descriptors that do not fit each other, memory that is not aligned, an algorithm that lacks its workspace.
// Of the algorithms that it offers, the first ones must not be taken. Switches at the end let it refuse and fail.
#include <algorithm>
#include <atomic>
#include <new>

#include "emulated_convolution.h"

namespace halftone::cuda {

struct DnnContext {
  cudaStream_t stream = nullptr;
};
struct DnnActivation {
  bool is_identity = false;
};

}  // namespace halftone::cuda

namespace emulation {
namespace {

constexpr auto kDone = DnnStatus::kSuccess;
constexpr auto kBadParameter = static_cast<DnnStatus>(2000);
constexpr auto kMisaligned = static_cast<DnnStatus>(2003);
constexpr auto kTooSmall = static_cast<DnnStatus>(2006);
// In each pass.
constexpr auto kWinograd = static_cast<DnnAlgorithm>(5);
constexpr auto kUnordered = static_cast<DnnAlgorithm>(0);
constexpr auto kGood = static_cast<DnnAlgorithm>(1);

std::atomic<size_t> version{91900};
std::atomic<DnnStatus> answer{kDone};  // of every convolution
std::atomic<int64_t> calls{0}, searches{0}, contexts{0}, live{0};

template <class T>
DnnStatus create(T** out) {
  *out = new (std::nothrow) T;
  ++live;
  return kDone;
}
template <class T>
DnnStatus destroy(T* descriptor) {
  delete descriptor;
  --live;
  return kDone;
}

DnnStatus set_sizes(DnnTensor* tensor, DnnFormat format, DnnType type, const int (&sizes)[4]) {
  if (format != DnnFormat::kChannelsFirst) return kBadParameter;
  tensor->type = type;
  for (int d = 0; d < 4; ++d) {
    if (sizes[d] < 1) return kBadParameter;
    tensor->sizes[d] = sizes[d];
  }
  return kDone;
}

// Some algorithms need more without TF32, so the right arithmetic must be asked for.
size_t workspace_of(const Convolution& of, DnnAlgorithm algorithm) {
  if (algorithm != kGood) return size_t{1} << 40;
  return of.window.math == DnnMath::kFma ? 2000 : 1000;
}

DnnStatus find(const Convolution& of, int most, int* count, DnnFound* found) {
  *count = 0;
  ++searches;
  if (!of.is_valid()) return kBadParameter;
  const DnnMath usual = of.x.type == DnnType::kFloat ? DnnMath::kDefault : DnnMath::kTensor;
  const auto yes = DnnDeterminism::kDeterministic;
  const auto no = DnnDeterminism::kNone;
  const DnnFound all[] = {
      {kWinograd, kDone, 1, 0, yes, usual, {}},
      {kUnordered, kDone, 2, 0, no, usual, {}},
      {kGood, DnnStatus::kNotSupported, 3, 0, yes, usual, {}},
      {kGood, kDone, 4, 0, yes, DnnMath::kConvert, {}},
      {DnnAlgorithm::kForwardColumns, kDone, 5, size_t{1} << 40, yes, usual, {}},
      {kGood, kDone, 6, 0, yes, of.window.math == DnnMath::kFma ? DnnMath::kTensor : usual, {}},
      {kGood, kDone, 7, 0, yes, usual, {}},
  };
  for (const DnnFound& one : all) {
    if (*count < most) found[(*count)++] = one;
  }
  return kDone;
}

DnnStatus find_size(const Convolution& of, DnnAlgorithm algorithm, size_t* bytes) {
  if (!of.is_valid()) return kBadParameter;
  *bytes = workspace_of(of, algorithm);
  return kDone;
}

struct Call {
  DnnContext* context;
  Convolution of;
  DnnAlgorithm algorithm;
  void* workspace;
  size_t bytes;
  const void* pointers[4];
};

DnnStatus check(const Call& call) {
  if (answer.load() != kDone) return answer;
  if (call.context->stream == nullptr || !call.of.is_valid()) return kBadParameter;
  if (call.algorithm != kGood || call.of.window.math == DnnMath::kConvert) return DnnStatus::kNotSupported;
  for (const void* pointer : call.pointers) {
    if (reinterpret_cast<uintptr_t>(pointer) % 16 != 0) return kMisaligned;
  }
  return call.workspace == nullptr || call.bytes < workspace_of(call.of, call.algorithm) ? kTooSmall : kDone;
}

// A workspace is written, so that memory that is too small shows.
template <class Work>
DnnStatus queue(const Call& call, Work work) {
  if (const DnnStatus status = check(call); status != kDone) return status;
  ++calls;
  const cudaError_t error = enqueue(call.context->stream, [call, work] {
    std::memset(call.workspace, 0xff, call.bytes);
    work(call.of);
  });
  return error == cudaSuccess ? kDone : static_cast<DnnStatus>(5003);
}

float number(const void* value) { return *static_cast<const float*>(value); }

}  // namespace
}  // namespace emulation

using namespace emulation;

#pragma GCC visibility push(default)
extern "C" {

size_t cudnnGetVersion() { return version; }
const char* cudnnGetErrorString(DnnStatus status) {
  return status == DnnStatus::kNotSupported ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_OTHER";
}
DnnStatus cudnnCreate(DnnContext** out) {
  ++contexts;
  return create(out);
}
DnnStatus cudnnDestroy(DnnContext* context) { return destroy(context); }
DnnStatus cudnnSetStream(DnnContext* context, cudaStream_t stream) {
  context->stream = stream;
  return kDone;
}

DnnStatus cudnnCreateTensorDescriptor(DnnTensor** out) { return create(out); }
DnnStatus cudnnSetTensor4dDescriptor(DnnTensor* tensor, DnnFormat format, DnnType type, int n, int c, int h, int w) {
  return set_sizes(tensor, format, type, {n, c, h, w});
}
DnnStatus cudnnDestroyTensorDescriptor(DnnTensor* tensor) { return destroy(tensor); }
DnnStatus cudnnCreateFilterDescriptor(DnnFilter** out) { return create(out); }
DnnStatus cudnnSetFilter4dDescriptor(DnnFilter* filter, DnnType type, DnnFormat format, int k, int c, int h, int w) {
  return set_sizes(filter, format, type, {k, c, h, w});
}
DnnStatus cudnnDestroyFilterDescriptor(DnnFilter* filter) { return destroy(filter); }
DnnStatus cudnnCreateConvolutionDescriptor(DnnConvolution** out) { return create(out); }
DnnStatus cudnnSetConvolution2dDescriptor(DnnConvolution* window, int padding_y, int padding_x, int stride_y,
                                          int stride_x, int dilation_y, int dilation_x, DnnMode mode, DnnType sums) {
  if (mode != DnnMode::kCrossCorrelation || std::min({stride_y, stride_x, dilation_y, dilation_x}) < 1) {
    return kBadParameter;
  }
  *window = {.padding = {padding_y, padding_x},
             .stride = {stride_y, stride_x},
             .dilation = {dilation_y, dilation_x},
             .sums = sums};
  return kDone;
}
DnnStatus cudnnSetConvolutionMathType(DnnConvolution* window, DnnMath math) {
  window->math = math;
  return kDone;
}
DnnStatus cudnnSetConvolutionGroupCount(DnnConvolution* window, int count) {
  window->groups = count;
  return kDone;
}
DnnStatus cudnnDestroyConvolutionDescriptor(DnnConvolution* window) { return destroy(window); }
DnnStatus cudnnCreateActivationDescriptor(DnnActivation** out) { return create(out); }
DnnStatus cudnnSetActivationDescriptor(DnnActivation* activation, DnnActivationMode mode, DnnNan, double) {
  activation->is_identity = mode == DnnActivationMode::kIdentity;
  return kDone;
}
DnnStatus cudnnDestroyActivationDescriptor(DnnActivation* activation) { return destroy(activation); }

DnnStatus cudnnGetConvolutionForwardAlgorithm_v7(DnnContext*, DnnTensor* x, DnnFilter* w, DnnConvolution* window,
                                                 DnnTensor* y, int most, int* count, DnnFound* found) {
  return find({*x, *y, *w, *window}, most, count, found);
}
DnnStatus cudnnGetConvolutionBackwardDataAlgorithm_v7(DnnContext*, DnnFilter* w, DnnTensor* dy, DnnConvolution* window,
                                                      DnnTensor* dx, int most, int* count, DnnFound* found) {
  return find({*dx, *dy, *w, *window}, most, count, found);
}
DnnStatus cudnnGetConvolutionBackwardFilterAlgorithm_v7(DnnContext*, DnnTensor* x, DnnTensor* dy,
                                                        DnnConvolution* window, DnnFilter* dw, int most, int* count,
                                                        DnnFound* found) {
  return find({*x, *dy, *dw, *window}, most, count, found);
}
DnnStatus cudnnGetConvolutionForwardWorkspaceSize(DnnContext*, DnnTensor* x, DnnFilter* w, DnnConvolution* window,
                                                  DnnTensor* y, DnnAlgorithm algorithm, size_t* bytes) {
  return find_size({*x, *y, *w, *window}, algorithm, bytes);
}
DnnStatus cudnnGetConvolutionBackwardDataWorkspaceSize(DnnContext*, DnnFilter* w, DnnTensor* dy, DnnConvolution* window,
                                                       DnnTensor* dx, DnnAlgorithm algorithm, size_t* bytes) {
  return find_size({*dx, *dy, *w, *window}, algorithm, bytes);
}
DnnStatus cudnnGetConvolutionBackwardFilterWorkspaceSize(DnnContext*, DnnTensor* x, DnnTensor* dy,
                                                         DnnConvolution* window, DnnFilter* dw, DnnAlgorithm algorithm,
                                                         size_t* bytes) {
  return find_size({*x, *dy, *dw, *window}, algorithm, bytes);
}

DnnStatus cudnnConvolutionForward(DnnContext* context, const void* alpha, DnnTensor* layout_x, const void* x,
                                  DnnFilter* layout_w, const void* w, DnnConvolution* window, DnnAlgorithm algorithm,
                                  void* workspace, size_t bytes, const void* beta, DnnTensor* layout_y, void* y) {
  if (number(alpha) != 1) return kBadParameter;
  const Call call = {context, {*layout_x, *layout_y, *layout_w, *window}, algorithm, workspace, bytes, {x, w, y}};
  return queue(call, [x, w, y, end = Ending{number(beta)}](const Convolution& of) { convolve(of, x, w, y, end); });
}
DnnStatus cudnnConvolutionBiasActivationForward(DnnContext* context, const void* alpha, DnnTensor* layout_x,
                                                const void* x, DnnFilter* layout_w, const void* w,
                                                DnnConvolution* window, DnnAlgorithm algorithm, void* workspace,
                                                size_t bytes, const void* beta, DnnTensor*, const void* z,
                                                DnnTensor* layout_bias, const void* bias, DnnActivation* activation,
                                                DnnTensor* layout_y, void* y) {
  const bool has_bias = layout_bias->count() == layout_y->sizes[1] && layout_bias->type == layout_y->type;
  if (number(alpha) != 1 || number(beta) != 0 || z != y || !has_bias) return kBadParameter;
  if (!activation->is_identity || algorithm != DnnAlgorithm::kForwardPrecomputed) return DnnStatus::kNotSupported;
  const Call call = {context, {*layout_x, *layout_y, *layout_w, *window}, algorithm, workspace, bytes, {x, w, y, bias}};
  return queue(call, [x, w, y, bias](const Convolution& of) { convolve(of, x, w, y, Ending{0, bias}); });
}
DnnStatus cudnnConvolutionBackwardData(DnnContext* context, const void* alpha, DnnFilter* layout_w, const void* w,
                                       DnnTensor* layout_dy, const void* dy, DnnConvolution* window,
                                       DnnAlgorithm algorithm, void* workspace, size_t bytes, const void* beta,
                                       DnnTensor* layout_dx, void* dx) {
  if (number(alpha) != 1) return kBadParameter;
  const Call call = {context, {*layout_dx, *layout_dy, *layout_w, *window}, algorithm, workspace, bytes, {dx, w, dy}};
  return queue(call, [dx, w, dy, end = Ending{number(beta)}](const Convolution& of) {
    convolve_back_to_input(of, dx, w, dy, end);
  });
}
DnnStatus cudnnConvolutionBackwardFilter(DnnContext* context, const void* alpha, DnnTensor* layout_x, const void* x,
                                         DnnTensor* layout_dy, const void* dy, DnnConvolution* window,
                                         DnnAlgorithm algorithm, void* workspace, size_t bytes, const void* beta,
                                         DnnFilter* layout_dw, void* dw) {
  if (number(alpha) != 1) return kBadParameter;
  const Call call = {context, {*layout_x, *layout_dy, *layout_dw, *window}, algorithm, workspace, bytes, {x, dw, dy}};
  return queue(call, [x, dw, dy, end = Ending{number(beta)}](const Convolution& of) {
    convolve_back_to_weight(of, x, dw, dy, end);
  });
}

// For tests.
int64_t cudnn_emulation_calls() { return calls; }
int64_t cudnn_emulation_searches() { return searches; }
int64_t cudnn_emulation_contexts() { return contexts; }
// Descriptors and contexts that exist.
int64_t cudnn_emulation_live() { return live; }
void cudnn_emulation_set_version(int64_t number) { version = static_cast<size_t>(number); }
// Each convolution returns `status` from now on; 0 makes them run.
void cudnn_emulation_answer(int32_t status) { answer = static_cast<DnnStatus>(status); }

}  // extern "C"
#pragma GCC visibility pop

// Each function has the type as which the plugin calls it.
namespace emulation {
[[maybe_unused]] constexpr DnnFunctions kAll = {cudnnGetVersion,
                                                cudnnGetErrorString,
                                                cudnnCreate,
                                                cudnnDestroy,
                                                cudnnSetStream,
                                                cudnnCreateTensorDescriptor,
                                                cudnnSetTensor4dDescriptor,
                                                cudnnDestroyTensorDescriptor,
                                                cudnnCreateFilterDescriptor,
                                                cudnnSetFilter4dDescriptor,
                                                cudnnDestroyFilterDescriptor,
                                                cudnnCreateConvolutionDescriptor,
                                                cudnnSetConvolution2dDescriptor,
                                                cudnnSetConvolutionMathType,
                                                cudnnSetConvolutionGroupCount,
                                                cudnnDestroyConvolutionDescriptor,
                                                cudnnCreateActivationDescriptor,
                                                cudnnSetActivationDescriptor,
                                                cudnnDestroyActivationDescriptor,
                                                cudnnGetConvolutionForwardAlgorithm_v7,
                                                cudnnGetConvolutionBackwardDataAlgorithm_v7,
                                                cudnnGetConvolutionBackwardFilterAlgorithm_v7,
                                                cudnnGetConvolutionForwardWorkspaceSize,
                                                cudnnGetConvolutionBackwardDataWorkspaceSize,
                                                cudnnGetConvolutionBackwardFilterWorkspaceSize,
                                                cudnnConvolutionForward,
                                                cudnnConvolutionBiasActivationForward,
                                                cudnnConvolutionBackwardData,
                                                cudnnConvolutionBackwardFilter};
}  // namespace emulation
