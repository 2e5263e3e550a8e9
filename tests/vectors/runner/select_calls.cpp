// Operations that choose elements.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

using Pair = htone_status (*)(htone_tensor*, int64_t, htone_tensor**, htone_tensor**);

auto along(Pair function) {
  return [=](const Call& call) {
    htone_tensor *values = nullptr, *indices = nullptr;
    accepted(function(call.inputs[0], call.whole("dim"), &values, &indices));
    return results(Tensor(values), Tensor(indices));
  };
}

Tensors kthvalue(const Call& call) {
  htone_tensor *values = nullptr, *indices = nullptr;
  accepted(htone_kthvalue(call.inputs[0], call.whole("k"), call.whole("dim"), int32_t{call.flag("keepdim")}, &values,
                          &indices));
  return results(Tensor(values), Tensor(indices));
}

Tensors median_dim(const Call& call) {
  htone_tensor *values = nullptr, *indices = nullptr;
  accepted(htone_median_dim(call.inputs[0], call.whole("dim"), int32_t{call.flag("keepdim")}, &values, &indices));
  return results(Tensor(values), Tensor(indices));
}

Tensors quantile(const Call& call) {
  static const std::map<std::string, htone_interpolation> interpolations = {{"linear", HTONE_INTERPOLATION_LINEAR},
                                                                            {"lower", HTONE_INTERPOLATION_LOWER},
                                                                            {"higher", HTONE_INTERPOLATION_HIGHER},
                                                                            {"nearest", HTONE_INTERPOLATION_NEAREST},
                                                                            {"midpoint", HTONE_INTERPOLATION_MIDPOINT}};
  const std::string interpolation = call.settings.value("interpolation", "linear");
  return results(compute(htone_quantile, call.inputs[0], call.number("q"), call.whole("dim"),
                         int32_t{call.flag("keepdim")}, interpolations.at(interpolation)));
}

}  // namespace

Calls select_calls() {
  Calls calls;
  calls["sort"] = [](const Call& call) {
    htone_tensor *values = nullptr, *indices = nullptr;
    accepted(htone_sort(call.inputs[0], call.whole("dim"), call.flag("descending") ? 1 : 0, &values, &indices));
    return results(Tensor(values), Tensor(indices));
  };
  calls["argsort"] = [](const Call& call) {
    return results(compute(htone_argsort, call.inputs[0], call.whole("dim"), int32_t{call.flag("descending")}));
  };
  calls["topk"] = [](const Call& call) {
    htone_tensor *values = nullptr, *indices = nullptr;
    accepted(htone_topk(call.inputs[0], call.whole("k"), call.whole("dim"), call.flag("largest") ? 1 : 0,
                        call.flag("sorted") ? 1 : 0, &values, &indices));
    return results(Tensor(values), Tensor(indices));
  };
  calls["multinomial"] = [](const Call& call) {
    return results(
        compute(htone_multinomial, call.inputs[0], call.whole("num_samples"), int32_t{call.flag("replacement")}));
  };
  calls["kthvalue"] = kthvalue;
  calls["median_dim"] = median_dim;
  calls["quantile"] = quantile;
  calls["cummax"] = along(htone_cummax);
  calls["cummin"] = along(htone_cummin);
  calls["median"] = [](const Call& call) { return results(compute(htone_median, call.inputs[0])); };
  calls["searchsorted"] = [](const Call& call) {
    return results(compute(htone_searchsorted, call.inputs[0], call.inputs[1], int32_t{call.flag("right")}));
  };
  calls["isin"] = [](const Call& call) { return results(compute(htone_isin, call.inputs[0], call.inputs[1])); };
  calls["bincount"] = [](const Call& call) {
    return results(compute(htone_bincount, call.inputs[0], call.inputs[1], call.whole("minlength")));
  };
  calls["nonzero"] = [](const Call& call) { return results(compute(htone_nonzero, call.inputs[0])); };
  return calls;
}

}  // namespace vectors
