// Normalisation, and the linear layer.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

Tensors linear(const Call& call) {
  return results(compute(htone_linear, call.inputs[0], call.inputs[1], call.inputs[2]));
}

Tensors layer_norm(const Call& call) {
  const std::vector<int64_t> shape = call.list("shape");
  return results(compute(htone_layer_norm, call.inputs[0], static_cast<int32_t>(shape.size()), shape.data(),
                         call.inputs[1], call.inputs[2], call.number("epsilon")));
}

Tensors rms_norm(const Call& call) {
  const std::vector<int64_t> shape = call.list("shape");
  return results(compute(htone_rms_norm, call.inputs[0], static_cast<int32_t>(shape.size()), shape.data(),
                         call.inputs[1], call.number("epsilon")));
}

Tensors group_norm(const Call& call) {
  return results(compute(htone_group_norm, call.inputs[0], call.whole("groups"), call.inputs[1], call.inputs[2],
                         call.number("epsilon")));
}

Tensors instance_norm(const Call& call) {
  return results(compute(htone_instance_norm, call.inputs[0], call.inputs[1], call.inputs[2], call.number("epsilon")));
}

// The running statistics are results, too.
Tensors batch_norm(const Call& call) {
  Tensors list =
      results(compute(htone_batch_norm, call.inputs[0], call.inputs[1], call.inputs[2], call.inputs[3], call.inputs[4],
                      int32_t{call.flag("training")}, call.number("momentum"), call.number("epsilon")));
  for (htone_tensor* running : {call.inputs[1], call.inputs[2]}) {
    if (running == nullptr) continue;
    ok(htone_tensor_retain(running));
    list.emplace_back(running);
  }
  return list;
}

}  // namespace

Calls norm_calls() {
  return {{"linear", linear},         {"layer_norm", layer_norm},       {"rms_norm", rms_norm},
          {"group_norm", group_norm}, {"instance_norm", instance_norm}, {"batch_norm", batch_norm}};
}

}  // namespace vectors
