#include "nn/module.h"

namespace halftone::nn {

Tensor Module::run(const Tensor& input) const {
  Tensor given = input;
  forward_pre_hooks_.each([&](const auto& hook) {
    if (const Tensor replacement = hook(*this, given); replacement.defined()) given = replacement;
  });
  Tensor output = forward(given);
  forward_hooks_.each([&](const auto& hook) {
    if (const Tensor replacement = hook(*this, given, output); replacement.defined()) output = replacement;
  });
  return output;
}

}  // namespace halftone::nn
