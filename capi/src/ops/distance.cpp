#include "halftone/distance.h"

#include "base/call.h"
#include "ops/distance/distance.h"
#include "ops/loss/loss.h"
#include "ops/loss_arguments.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

double distance_exponent(double p, ArgumentName name) {
  if (norm_exponent(p, name) < 0) fail(Code::kInvalidArgument, name.text(), "p=%g is negative", p);
  return p;
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double epsilon, int32_t swap, LossReduction reduction) {
  return ops::triplet_margin_loss(
      {anchor, positive, negative},
      {.margin = margin, .p = p, .epsilon = epsilon, .swap = swap != 0, .reduction = reduction});
}

}  // namespace

htone_status htone_normalize(htone_tensor* input, double p, int64_t dim, double epsilon, htone_tensor** out) {
  return Pure(ops::normalize, input, as<norm_exponent>(p), dim, as<not_negative>(epsilon), out);
}

htone_status htone_cosine_similarity(htone_tensor* a, htone_tensor* b, int64_t dim, double epsilon,
                                     htone_tensor** out) {
  return Pure(ops::cosine_similarity, a, b, dim, as<not_negative>(epsilon), out);
}

htone_status htone_pairwise_distance(htone_tensor* a, htone_tensor* b, double p, double epsilon, int32_t keepdim,
                                     htone_tensor** out) {
  return Pure(ops::pairwise_distance, a, b, as<norm_exponent>(p), as<finite_number>(epsilon), keepdim, out);
}

htone_status htone_cdist(htone_tensor* a, htone_tensor* b, double p, htone_tensor** out) {
  return Pure(ops::cdist, a, b, as<distance_exponent>(p), out);
}

htone_status htone_margin_ranking_loss(htone_tensor* input1, htone_tensor* input2, htone_tensor* target, double margin,
                                       htone_reduction reduction, htone_tensor** out) {
  return Pure(ops::margin_ranking_loss, input1, input2, target, as<finite_number>(margin),
              as<loss_reduction>(reduction), out);
}

htone_status htone_cosine_embedding_loss(htone_tensor* input1, htone_tensor* input2, htone_tensor* target,
                                         double margin, htone_reduction reduction, htone_tensor** out) {
  return Pure(ops::cosine_embedding_loss, input1, input2, target, as<finite_number>(margin),
              as<loss_reduction>(reduction), out);
}

htone_status htone_triplet_margin_loss(htone_tensor* anchor, htone_tensor* positive, htone_tensor* negative,
                                       double margin, double p, double epsilon, int32_t swap, htone_reduction reduction,
                                       htone_tensor** out) {
  return Pure(triplet_margin_loss, anchor, positive, negative, as<finite_number>(margin), as<norm_exponent>(p),
              as<finite_number>(epsilon), swap, as<loss_reduction>(reduction), out);
}
