// Compares the declarations of api.h with NVIDIA's header, when this file is compiled where that of cuDNN 9 is
// installed.
#include "cuda/dnn/api.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

#if defined(CUDNN_MAJOR) && CUDNN_MAJOR == 9

#include <cstddef>
#include <type_traits>

namespace halftone::cuda {
namespace {

// Types that one call passes in the same way: pointers, whole numbers and enumerations of one size, equal others.
template <class Ours, class Theirs>
constexpr bool agree() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  } else if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else {
    return std::is_enum_v<Ours> && std::is_enum_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
  }
}

template <class Ours, class Theirs>
struct Signatures {
  static constexpr bool kAgree = false;
};
template <class Result, class... Ours, class Other, class... Theirs>
struct Signatures<Result (*)(Ours...), Other (*)(Theirs...)> {
  static constexpr bool are_alike() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
      return agree<Result, Other>() && (agree<Ours, Theirs>() && ...);
    } else {
      return false;
    }
  }
  static constexpr bool kAgree = are_alike();
};

#define HALFTONE_AGREES(member, function) \
  static_assert(Signatures<decltype(DnnFunctions::member), decltype(&function)>::kAgree)
HALFTONE_AGREES(get_version, cudnnGetVersion);
HALFTONE_AGREES(get_error_string, cudnnGetErrorString);
HALFTONE_AGREES(create, cudnnCreate);
HALFTONE_AGREES(destroy, cudnnDestroy);
HALFTONE_AGREES(set_stream, cudnnSetStream);
HALFTONE_AGREES(create_tensor, cudnnCreateTensorDescriptor);
HALFTONE_AGREES(set_tensor, cudnnSetTensor4dDescriptor);
HALFTONE_AGREES(destroy_tensor, cudnnDestroyTensorDescriptor);
HALFTONE_AGREES(create_filter, cudnnCreateFilterDescriptor);
HALFTONE_AGREES(set_filter, cudnnSetFilter4dDescriptor);
HALFTONE_AGREES(destroy_filter, cudnnDestroyFilterDescriptor);
HALFTONE_AGREES(create_convolution, cudnnCreateConvolutionDescriptor);
HALFTONE_AGREES(set_convolution, cudnnSetConvolution2dDescriptor);
HALFTONE_AGREES(set_math, cudnnSetConvolutionMathType);
HALFTONE_AGREES(set_groups, cudnnSetConvolutionGroupCount);
HALFTONE_AGREES(destroy_convolution, cudnnDestroyConvolutionDescriptor);
HALFTONE_AGREES(create_activation, cudnnCreateActivationDescriptor);
HALFTONE_AGREES(set_activation, cudnnSetActivationDescriptor);
HALFTONE_AGREES(destroy_activation, cudnnDestroyActivationDescriptor);
HALFTONE_AGREES(find_forward, cudnnGetConvolutionForwardAlgorithm_v7);
HALFTONE_AGREES(find_grad_input, cudnnGetConvolutionBackwardDataAlgorithm_v7);
HALFTONE_AGREES(find_grad_weight, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
HALFTONE_AGREES(size_forward, cudnnGetConvolutionForwardWorkspaceSize);
HALFTONE_AGREES(size_grad_input, cudnnGetConvolutionBackwardDataWorkspaceSize);
HALFTONE_AGREES(size_grad_weight, cudnnGetConvolutionBackwardFilterWorkspaceSize);
HALFTONE_AGREES(forward, cudnnConvolutionForward);
HALFTONE_AGREES(forward_with_bias, cudnnConvolutionBiasActivationForward);
HALFTONE_AGREES(grad_input, cudnnConvolutionBackwardData);
HALFTONE_AGREES(grad_weight, cudnnConvolutionBackwardFilter);
#undef HALFTONE_AGREES

template <class Ours, class Theirs>
constexpr bool are_equal(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(are_equal(DnnStatus::kSuccess, CUDNN_STATUS_SUCCESS));
static_assert(are_equal(DnnStatus::kNotSupported, CUDNN_STATUS_NOT_SUPPORTED));
static_assert(are_equal(DnnStatus::kInternalError, CUDNN_STATUS_INTERNAL_ERROR));
static_assert(are_equal(DnnType::kFloat, CUDNN_DATA_FLOAT) && are_equal(DnnType::kHalf, CUDNN_DATA_HALF));
static_assert(are_equal(DnnType::kBfloat16, CUDNN_DATA_BFLOAT16));
static_assert(are_equal(DnnMath::kDefault, CUDNN_DEFAULT_MATH) && are_equal(DnnMath::kTensor, CUDNN_TENSOR_OP_MATH));
static_assert(are_equal(DnnMath::kConvert, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION));
static_assert(are_equal(DnnMath::kFma, CUDNN_FMA_MATH));
static_assert(are_equal(DnnFormat::kChannelsFirst, CUDNN_TENSOR_NCHW));
static_assert(are_equal(DnnMode::kCrossCorrelation, CUDNN_CROSS_CORRELATION));
static_assert(are_equal(DnnActivationMode::kIdentity, CUDNN_ACTIVATION_IDENTITY));
static_assert(are_equal(DnnNan::kPropagate, CUDNN_PROPAGATE_NAN));
static_assert(are_equal(DnnDeterminism::kDeterministic, CUDNN_DETERMINISTIC));
static_assert(are_equal(DnnAlgorithm::kForwardImplicit, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM));
static_assert(are_equal(DnnAlgorithm::kForwardPrecomputed, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
static_assert(are_equal(DnnAlgorithm::kForwardColumns, CUDNN_CONVOLUTION_FWD_ALGO_GEMM));
static_assert(are_equal(DnnAlgorithm::kGradInputImplicit, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1));
static_assert(are_equal(DnnAlgorithm::kGradWeightImplicit, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1));

template <class Theirs>
constexpr bool is_found() {
  return sizeof(DnnFound) == sizeof(Theirs) && offsetof(DnnFound, algorithm) == offsetof(Theirs, algo) &&
         offsetof(DnnFound, status) == offsetof(Theirs, status) &&
         offsetof(DnnFound, memory) == offsetof(Theirs, memory) &&
         offsetof(DnnFound, determinism) == offsetof(Theirs, determinism) &&
         offsetof(DnnFound, math) == offsetof(Theirs, mathType);
}
static_assert(is_found<cudnnConvolutionFwdAlgoPerf_t>() && is_found<cudnnConvolutionBwdDataAlgoPerf_t>() &&
              is_found<cudnnConvolutionBwdFilterAlgoPerf_t>());

}  // namespace
}  // namespace halftone::cuda
#endif
