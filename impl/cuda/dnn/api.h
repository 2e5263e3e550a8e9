// The part of cuDNN 9 that halftone calls: convolutions by descriptors. Declared here, so that no header of cuDNN is
// needed to build; agreement.cpp compares the declarations with NVIDIA's header where that is installed. Values are
// those of the enumerations whose names the comments give.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace halftone::cuda {

// cudnnStatus_t; thousands are a category.
enum class DnnStatus : int { kSuccess = 0, kNotSupported = 3000, kInternalError = 4000 };
constexpr bool is_refusal(DnnStatus status) { return static_cast<int>(status) / 1000 == 3; }
// cudnnDataType_t
enum class DnnType : int { kFloat = 0, kHalf = 2, kBfloat16 = 9 };
// cudnnMathType_t. The default may round operands of FP32 to TF32, kFma does not. kConvert may round them to FP16.
enum class DnnMath : int { kDefault = 0, kTensor = 1, kConvert = 2, kFma = 3 };
// cudnnTensorFormat_t
enum class DnnFormat : int { kChannelsFirst = 0 };
// cudnnConvolutionMode_t
enum class DnnMode : int { kCrossCorrelation = 1 };
// cudnnActivationMode_t
enum class DnnActivationMode : int { kIdentity = 5 };
// cudnnNanPropagation_t
enum class DnnNan : int { kPropagate = 1 };
// cudnnDeterminism_t
enum class DnnDeterminism : int { kNone = 0, kDeterministic = 1 };

// cudnnConvolutionFwdAlgo_t, ...BwdDataAlgo_t and ...BwdFilterAlgo_t: those that add products in FP32 in a fixed order.
// The others add with atomics, or transform their operands, which costs digits.
enum class DnnAlgorithm : int {
  kForwardImplicit = 0,
  kForwardPrecomputed = 1,
  kForwardColumns = 2,
  kGradInputImplicit = 1,
  kGradWeightImplicit = 1,
};

// cudnnConvolutionFwdAlgoPerf_t and its two like.
struct DnnFound {
  DnnAlgorithm algorithm;
  DnnStatus status;
  float time;
  size_t memory;
  DnnDeterminism determinism;
  DnnMath math;
  int reserved[3];
};

// Opaque: cudnnContext, and what the descriptors point to.
struct DnnContext;
struct DnnTensor;
struct DnnFilter;
struct DnnConvolution;
struct DnnActivation;

struct DnnFunctions {
  size_t (*get_version)();
  const char* (*get_error_string)(DnnStatus);
  DnnStatus (*create)(DnnContext** out);
  DnnStatus (*destroy)(DnnContext*);
  DnnStatus (*set_stream)(DnnContext*, cudaStream_t);

  DnnStatus (*create_tensor)(DnnTensor** out);
  DnnStatus (*set_tensor)(DnnTensor*, DnnFormat, DnnType, int n, int channels, int height, int width);
  DnnStatus (*destroy_tensor)(DnnTensor*);
  DnnStatus (*create_filter)(DnnFilter** out);
  DnnStatus (*set_filter)(DnnFilter*, DnnType, DnnFormat, int outputs, int inputs, int height, int width);
  DnnStatus (*destroy_filter)(DnnFilter*);
  DnnStatus (*create_convolution)(DnnConvolution** out);
  DnnStatus (*set_convolution)(DnnConvolution*, int padding_y, int padding_x, int stride_y, int stride_x,
                               int dilation_y, int dilation_x, DnnMode, DnnType sums);
  DnnStatus (*set_math)(DnnConvolution*, DnnMath);
  DnnStatus (*set_groups)(DnnConvolution*, int count);
  DnnStatus (*destroy_convolution)(DnnConvolution*);
  DnnStatus (*create_activation)(DnnActivation** out);
  DnnStatus (*set_activation)(DnnActivation*, DnnActivationMode, DnnNan, double coefficient);
  DnnStatus (*destroy_activation)(DnnActivation*);

  // Algorithms by cuDNN's own estimate, the quickest first.
  DnnStatus (*find_forward)(DnnContext*, DnnTensor* x, DnnFilter* w, DnnConvolution*, DnnTensor* y, int most,
                            int* count, DnnFound* found);
  DnnStatus (*find_grad_input)(DnnContext*, DnnFilter* w, DnnTensor* dy, DnnConvolution*, DnnTensor* dx, int most,
                               int* count, DnnFound* found);
  DnnStatus (*find_grad_weight)(DnnContext*, DnnTensor* x, DnnTensor* dy, DnnConvolution*, DnnFilter* dw, int most,
                                int* count, DnnFound* found);
  DnnStatus (*size_forward)(DnnContext*, DnnTensor* x, DnnFilter* w, DnnConvolution*, DnnTensor* y, DnnAlgorithm,
                            size_t* bytes);
  DnnStatus (*size_grad_input)(DnnContext*, DnnFilter* w, DnnTensor* dy, DnnConvolution*, DnnTensor* dx, DnnAlgorithm,
                               size_t* bytes);
  DnnStatus (*size_grad_weight)(DnnContext*, DnnTensor* x, DnnTensor* dy, DnnConvolution*, DnnFilter* dw, DnnAlgorithm,
                                size_t* bytes);

  // result = alpha * (the sums) + beta * result; alpha and beta are FP32 in host memory.
  DnnStatus (*forward)(DnnContext*, const void* alpha, DnnTensor*, const void* x, DnnFilter*, const void* w,
                       DnnConvolution*, DnnAlgorithm, void* workspace, size_t bytes, const void* beta, DnnTensor*,
                       void* y);
  // y = activation(alpha * (the sums) + beta * z + bias)
  DnnStatus (*forward_with_bias)(DnnContext*, const void* alpha, DnnTensor*, const void* x, DnnFilter*, const void* w,
                                 DnnConvolution*, DnnAlgorithm, void* workspace, size_t bytes, const void* beta,
                                 DnnTensor*, const void* z, DnnTensor*, const void* bias, DnnActivation*, DnnTensor*,
                                 void* y);
  DnnStatus (*grad_input)(DnnContext*, const void* alpha, DnnFilter*, const void* w, DnnTensor*, const void* dy,
                          DnnConvolution*, DnnAlgorithm, void* workspace, size_t bytes, const void* beta, DnnTensor*,
                          void* dx);
  DnnStatus (*grad_weight)(DnnContext*, const void* alpha, DnnTensor*, const void* x, DnnTensor*, const void* dy,
                           DnnConvolution*, DnnAlgorithm, void* workspace, size_t bytes, const void* beta, DnnFilter*,
                           void* dw);
};

}  // namespace halftone::cuda
