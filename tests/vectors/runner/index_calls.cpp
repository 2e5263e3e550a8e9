// Operations that read and write by index.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

using Scatter = htone_status (*)(htone_tensor*, int64_t, htone_tensor*, htone_tensor*, htone_tensor**);

auto scattered(Scatter function) {
  return [=](const Call& call) {
    return results(compute(function, call.inputs[0], call.whole("dim"), call.inputs[1], call.inputs[2]));
  };
}

Tensors scatter_reduce(const Call& call) {
  static const std::map<std::string, htone_scatter_reduction> reductions = {{"sum", HTONE_SCATTER_SUM},
                                                                            {"prod", HTONE_SCATTER_PROD},
                                                                            {"mean", HTONE_SCATTER_MEAN},
                                                                            {"amax", HTONE_SCATTER_AMAX},
                                                                            {"amin", HTONE_SCATTER_AMIN}};
  return results(compute(htone_scatter_reduce, call.inputs[0], call.whole("dim"), call.inputs[1], call.inputs[2],
                         reductions.at(call.settings.at("reduction")), int32_t{call.flag("include_self")}));
}

}  // namespace

Calls index_calls() {
  Calls calls;
  calls["gather"] = [](const Call& call) {
    return results(compute(htone_gather, call.inputs[0], call.whole("dim"), call.inputs[1]));
  };
  calls["scatter_add"] = scattered(htone_scatter_add);
  calls["index_add"] = scattered(htone_index_add);
  calls["index_copy"] = scattered(htone_index_copy);
  calls["scatter"] = scattered(htone_scatter);
  calls["scatter_reduce"] = scatter_reduce;
  calls["scatter_scalar"] = [](const Call& call) {
    return results(
        compute(htone_scatter_scalar, call.inputs[0], call.whole("dim"), call.inputs[1], call.number("number")));
  };
  calls["index"] = [](const Call& call) {
    return results(compute(htone_index, call.inputs[0], call.inputs.size() - 1, call.inputs.data() + 1));
  };
  calls["index_put"] = [](const Call& call) {
    return results(compute(htone_index_put, call.inputs[0], call.inputs.size() - 2, call.inputs.data() + 1,
                           call.inputs.back(), int32_t{call.flag("accumulate")}));
  };
  calls["masked_select"] = [](const Call& call) {
    return results(compute(htone_masked_select, call.inputs[0], call.inputs[1]));
  };
  calls["index_select"] = [](const Call& call) {
    return results(compute(htone_index_select, call.inputs[0], call.whole("dim"), call.inputs[1]));
  };
  calls["embedding"] = [](const Call& call) {
    return results(compute(htone_embedding, call.inputs[0], call.inputs[1], call.whole("padding_index", -1)));
  };
  return calls;
}

}  // namespace vectors
