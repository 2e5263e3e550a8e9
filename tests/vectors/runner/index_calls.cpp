// Operations that read and write by index.
#include "runner/operation_calls.h"

namespace vectors {

Calls index_calls() {
  Calls calls;
  calls["gather"] = [](const Call& call) {
    return results(compute(htone_gather, call.inputs[0], call.whole("dim"), call.inputs[1]));
  };
  calls["scatter_add"] = [](const Call& call) {
    return results(compute(htone_scatter_add, call.inputs[0], call.whole("dim"), call.inputs[1], call.inputs[2]));
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
