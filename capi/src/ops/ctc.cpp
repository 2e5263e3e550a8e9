#include "halftone/ctc.h"

#include "base/call.h"
#include "ops/loss/loss.h"
#include "ops/loss_arguments.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, LossReduction reduction, int32_t zero_infinity) {
  return ops::ctc_loss(log_probabilities, {targets, input_lengths, target_lengths},
                       {.blank = blank, .reduction = reduction, .zero_infinity = zero_infinity != 0});
}

}  // namespace

htone_status htone_ctc_loss(htone_tensor* log_probabilities, htone_tensor* targets, htone_tensor* input_lengths,
                            htone_tensor* target_lengths, int64_t blank, htone_reduction reduction,
                            int32_t zero_infinity, htone_tensor** out) {
  return Pure(ctc_loss, log_probabilities, targets, input_lengths, target_lengths, blank, as<loss_reduction>(reduction),
              zero_infinity, out);
}
