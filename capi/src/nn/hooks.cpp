#include "halftone/hooks.h"

#include "autograd/gradient_hook.h"
#include "autograd/graph/hook_list.h"
#include "autograd/leaf/accumulate_grad.h"
#include "autograd/parameter_set.h"
#include "base/call.h"
#include "nn/forward_call.h"
#include "nn/lent_module.h"
#include "scope/callback.h"
#include "tensor/handles.h"
#include "tensor/lent_tensors.h"

using namespace halftone;
using namespace halftone::capi;

namespace halftone::capi {

template <>
struct HandleTraits<htone_hook> : HandleTo<Ref<Hook>, HandleType::kHook> {};

}  // namespace halftone::capi

namespace {

// Runs `add` with the callback. The hook that it returns goes to the caller; where that fails, it is removed, because
// the caller still owns `user` and may free it.
template <class Function, class Add>
void add_hook(Function function, void* user, void (*destroy)(void*), htone_hook** out, const Add& add) {
  const Ref<Callback<Function>> callback = make_callback(function, user);
  require(out, "out");
  const Ref<Hook> hook = add(callback);
  try {
    give_handle(out, hook);
  } catch (...) {
    hook->remove();
    throw;
  }
  callback->set_destroy(destroy);
}

}  // namespace

htone_status htone_module_add_forward_pre_hook(htone_module* module, htone_forward_pre_hook_fn callback, void* user,
                                               void (*destroy)(void* user), htone_hook** out) {
  return guard([&] {
    const auto layer = hold(module, "module");
    add_hook(callback, user, destroy, out, [&](const auto& hook) {
      return layer->forward_pre_hooks().add(
          [hook](const nn::Module& self, std::span<const Tensor> inputs, std::span<Tensor> replacements) {
            const LentHandle<htone_module> lent_module(shared_module(self));
            const TensorHandles lent_inputs(inputs);
            TensorHandles made(inputs.size());
            const htone_forward_call shown =
                forward_call(inputs.size(), self.arity().outputs, lent_inputs.data(), nullptr, made.data());
            hook->call("a forward pre-hook", lent_module.get(), &shown);
            for (size_t i = 0; i < inputs.size(); ++i) replacements[i] = made.left(i, "a forward pre-hook");
          });
    });
  });
}

htone_status htone_module_add_forward_hook(htone_module* module, htone_forward_hook_fn callback, void* user,
                                           void (*destroy)(void* user), htone_hook** out) {
  return guard([&] {
    const auto layer = hold(module, "module");
    add_hook(callback, user, destroy, out, [&](const auto& hook) {
      return layer->forward_hooks().add([hook](const nn::Module& self, std::span<const Tensor> inputs,
                                               std::span<const Tensor> outputs, std::span<Tensor> replacements) {
        const LentHandle<htone_module> lent_module(shared_module(self));
        const TensorHandles lent_inputs(inputs), lent_outputs(outputs);
        TensorHandles made(outputs.size());
        const htone_forward_call shown =
            forward_call(inputs.size(), outputs.size(), lent_inputs.data(), lent_outputs.data(), made.data());
        hook->call("a forward hook", lent_module.get(), &shown);
        for (size_t i = 0; i < outputs.size(); ++i) replacements[i] = made.left(i, "a forward hook");
      });
    });
  });
}

htone_status htone_tensor_add_gradient_hook(htone_tensor* tensor, htone_gradient_hook_fn callback, void* user,
                                            void (*destroy)(void* user), htone_hook** out) {
  return guard([&] {
    const auto hooked = hold(tensor, "tensor");
    add_hook(callback, user, destroy, out, [&](const auto& hook) {
      return add_gradient_hook(*hooked, [hook](const Tensor& gradient) {
        const LentHandle<htone_tensor> lent(gradient);
        TensorHandles replacement(1);
        hook->call("a gradient hook", lent.get(), replacement.data());
        return replacement.left(0, "a gradient hook");
      });
    });
  });
}

htone_status htone_parameter_add_post_accumulate_hook(htone_parameter* parameter, htone_parameter_hook_fn callback,
                                                      void* user, void (*destroy)(void* user), htone_hook** out) {
  return guard([&] {
    const auto hooked = hold(parameter, "parameter");
    add_hook(callback, user, destroy, out, [&](const auto& hook) {
      return hooked->post_accumulate_hooks().add([hook](AccumulateGrad& leaf) {
        const Ref<Parameter> owner = parameter_of(leaf);
        if (!owner) return;  // another thread released the parameter while this backward ran
        const LentHandle<htone_parameter> lent(owner);
        hook->call("a post-accumulate hook", lent.get());
      });
    });
  });
}

htone_status htone_hook_remove(htone_hook* hook) { return Call(&Hook::remove, hook); }
