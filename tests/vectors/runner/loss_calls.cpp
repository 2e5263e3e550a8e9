// Losses and distances.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

using Distance = htone_status (*)(htone_tensor*, htone_tensor*, htone_reduction, htone_tensor**);

htone_reduction reduction(const Call& call) {
  static const std::map<std::string, htone_reduction> names = {{"mean", HTONE_REDUCTION_MEAN},
                                                               {"sum", HTONE_REDUCTION_SUM},
                                                               {"none", HTONE_REDUCTION_NONE},
                                                               {"batch_mean", HTONE_REDUCTION_BATCH_MEAN}};
  return names.at(call.settings.at("reduction"));
}

auto distance(Distance function) {
  return [=](const Call& call) { return results(compute(function, call.inputs[0], call.inputs[1], reduction(call))); };
}

Tensors smooth_l1_loss(const Call& call) {
  return results(compute(htone_smooth_l1_loss, call.inputs[0], call.inputs[1], call.number("beta"), reduction(call)));
}

Tensors huber_loss(const Call& call) {
  return results(compute(htone_huber_loss, call.inputs[0], call.inputs[1], call.number("delta"), reduction(call)));
}

Tensors bce_loss(const Call& call) {
  return results(compute(htone_bce_loss, call.inputs[0], call.inputs[1], call.inputs[2], reduction(call)));
}

Tensors gaussian_nll_loss(const Call& call) {
  return results(compute(htone_gaussian_nll_loss, call.inputs[0], call.inputs[1], call.inputs[2],
                         int32_t{call.flag("full")}, call.number("epsilon", 1e-6), reduction(call)));
}

Tensors ctc_loss(const Call& call) {
  return results(compute(htone_ctc_loss, call.inputs[0], call.inputs[1], call.inputs[2], call.inputs[3],
                         call.whole("blank"), reduction(call), int32_t{call.flag("zero_infinity")}));
}

using Ranking = htone_status (*)(htone_tensor*, htone_tensor*, htone_tensor*, double, htone_reduction, htone_tensor**);

auto ranking(Ranking function) {
  return [=](const Call& call) {
    return results(
        compute(function, call.inputs[0], call.inputs[1], call.inputs[2], call.number("margin"), reduction(call)));
  };
}

Tensors triplet_margin_loss(const Call& call) {
  return results(compute(htone_triplet_margin_loss, call.inputs[0], call.inputs[1], call.inputs[2],
                         call.number("margin", 1), call.number("p", 2), call.number("epsilon", 1e-6),
                         int32_t{call.flag("swap")}, reduction(call)));
}

Tensors normalize(const Call& call) {
  return results(
      compute(htone_normalize, call.inputs[0], call.number("p", 2), call.whole("dim"), call.number("epsilon", 1e-12)));
}

Tensors cosine_similarity(const Call& call) {
  return results(compute(htone_cosine_similarity, call.inputs[0], call.inputs[1], call.whole("dim"),
                         call.number("epsilon", 1e-8)));
}

Tensors pairwise_distance(const Call& call) {
  return results(compute(htone_pairwise_distance, call.inputs[0], call.inputs[1], call.number("p", 2),
                         call.number("epsilon", 1e-6), int32_t{call.flag("keepdim")}));
}

Tensors cdist(const Call& call) {
  return results(compute(htone_cdist, call.inputs[0], call.inputs[1], call.number("p")));
}

Tensors kl_div(const Call& call) {
  return results(
      compute(htone_kl_div, call.inputs[0], call.inputs[1], int32_t{call.flag("log_target")}, reduction(call)));
}

Tensors bce_with_logits(const Call& call) {
  return results(compute(htone_bce_with_logits, call.inputs[0], call.inputs[1], call.inputs[2], reduction(call)));
}

htone_cross_entropy_options class_options(const Call& call, htone_tensor* class_weights) {
  htone_cross_entropy_options options;
  ok(htone_cross_entropy_options_init(&options));
  options.reduction = reduction(call);
  options.ignore_index = call.whole("ignore_index", options.ignore_index);
  options.label_smoothing = call.number("label_smoothing");
  options.weight = class_weights;
  return options;
}

Tensors cross_entropy(const Call& call) {
  const htone_cross_entropy_options options = class_options(call, call.inputs[2]);
  return results(compute(htone_cross_entropy, call.inputs[0], call.inputs[1], &options));
}

Tensors linear_cross_entropy(const Call& call) {
  const htone_cross_entropy_options options = class_options(call, call.inputs[4]);
  return results(
      compute(htone_linear_cross_entropy, call.inputs[0], call.inputs[1], call.inputs[2], call.inputs[3], &options));
}

Tensors nll_loss(const Call& call) {
  return results(compute(htone_nll_loss, call.inputs[0], call.inputs[1], call.inputs[2],
                         call.whole("ignore_index", -100), reduction(call)));
}

}  // namespace

Calls loss_calls() {
  return {{"mse_loss", distance(htone_mse_loss)},
          {"l1_loss", distance(htone_l1_loss)},
          {"smooth_l1_loss", smooth_l1_loss},
          {"huber_loss", huber_loss},
          {"bce_loss", bce_loss},
          {"gaussian_nll_loss", gaussian_nll_loss},
          {"ctc_loss", ctc_loss},
          {"margin_ranking_loss", ranking(htone_margin_ranking_loss)},
          {"cosine_embedding_loss", ranking(htone_cosine_embedding_loss)},
          {"triplet_margin_loss", triplet_margin_loss},
          {"normalize", normalize},
          {"cosine_similarity", cosine_similarity},
          {"pairwise_distance", pairwise_distance},
          {"cdist", cdist},
          {"kl_div", kl_div},
          {"bce_with_logits", bce_with_logits},
          {"cross_entropy", cross_entropy},
          {"linear_cross_entropy", linear_cross_entropy},
          {"nll_loss", nll_loss}};
}

}  // namespace vectors
