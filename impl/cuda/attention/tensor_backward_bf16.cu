#include "cuda/attention/tensor_backward.h"

namespace halftone::cuda {

template Status tensor_backward<BFloat16>(Stream&, const AttentionArgs&, const AttentionSaved&, float*,
                                          const AttentionGrads&) noexcept;

}  // namespace halftone::cuda
