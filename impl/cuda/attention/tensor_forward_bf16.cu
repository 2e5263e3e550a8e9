#include "cuda/attention/tensor_forward.h"

namespace halftone::cuda {

template Status tensor_forward<BFloat16>(Stream&, const AttentionArgs&, const AttentionResult&) noexcept;

}  // namespace halftone::cuda
