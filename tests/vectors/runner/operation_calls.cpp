#include "runner/operation_calls.h"

namespace vectors {

double Call::number(const char* name, double otherwise) const {
  if (!settings.contains(name)) return otherwise;
  return numbers_of(Json::array({settings[name]}))[0];
}

std::vector<int64_t> Call::list(const char* name) const { return settings.value(name, std::vector<int64_t>()); }

namespace {

Calls all_calls() {
  Calls all;
  for (Calls part : {elementwise_calls(), scalar_calls(), reduce_calls(), shape_calls(), index_calls(), select_calls(),
                     loss_calls(), norm_calls(), window_calls(), attention_calls()}) {
    all.merge(part);
  }
  return all;
}

}  // namespace

Tensors call_operation(const std::string& name, const Call& call) {
  static const Calls calls = all_calls();
  const auto found = calls.find(name);
  if (found == calls.end()) throw Mismatch("unknown operation " + name);
  return found->second(call);
}

}  // namespace vectors
