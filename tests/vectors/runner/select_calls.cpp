// Operations that choose elements.
#include "runner/operation_calls.h"

namespace vectors {

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
  calls["nonzero"] = [](const Call& call) { return results(compute(htone_nonzero, call.inputs[0])); };
  return calls;
}

}  // namespace vectors
