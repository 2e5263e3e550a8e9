#include "halftone/custom.h"

#include "autograd/custom_function.h"
#include "autograd/parameter_set.h"
#include "autograd/tensor_lists.h"
#include "base/call.h"
#include "nn/custom.h"
#include "nn/forward_call.h"
#include "nn/lent_module.h"
#include "scope/callback.h"
#include "tensor/handles.h"
#include "tensor/lent_tensors.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

namespace halftone::capi {

template <>
struct HandleTraits<htone_function> : HandleTo<Ref<CustomFunction>, HandleType::kFunction> {};

}  // namespace halftone::capi

namespace {

class CallbackFunction final : public CustomFunction {
 public:
  CallbackFunction(const char* name, Ref<Callback<htone_backward_fn>> callback)
      : CustomFunction(name), callback_(std::move(callback)) {}

  void backward(BackwardCall& call) override {
    const TensorHandles saved(call.saved), grad_outputs(call.grad_outputs);
    TensorHandles grad_inputs(call.grad_inputs.size());
    const htone_backward_call shown = {.struct_size = sizeof shown,
                                       .reserved = 0,
                                       .saved_count = call.saved.size(),
                                       .output_count = call.grad_outputs.size(),
                                       .input_count = call.grad_inputs.size(),
                                       .saved = saved.data(),
                                       .grad_outputs = grad_outputs.data(),
                                       .needs_grad = call.needs_grad.data(),
                                       .out_grad_inputs = grad_inputs.data()};
    const std::string what = std::string("backward of ") + name();
    callback_->call(what.c_str(), &shown);
    for (size_t i = 0; i < call.grad_inputs.size(); ++i) call.grad_inputs[i] = grad_inputs.left(i, what.c_str());
  }

 private:
  Ref<Callback<htone_backward_fn>> callback_;
};

class CallbackModule final : public nn::Custom {
 public:
  CallbackModule(Ref<Callback<htone_forward_fn>> callback, const nn::Arity& arity, size_t required_outputs)
      : callback_(std::move(callback)), arity_(arity), required_outputs_(required_outputs) {}

  const char* kind() const noexcept override { return "custom"; }
  nn::Arity arity() const noexcept override { return arity_; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override {
    const LentHandle<htone_module> self(shared_module(*this));
    const TensorHandles lent(inputs);
    TensorHandles made(outputs.size());
    const htone_forward_call shown = forward_call(inputs.size(), outputs.size(), lent.data(), nullptr, made.data());
    callback_->call(kWhat, self.get(), &shown);
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = output_of(made, i);
  }

 private:
  static constexpr const char* kWhat = "forward of a custom module";

  // Not inlined, to keep its message out of the frame above, which is on the stack once for each level of modules.
  [[gnu::noinline]] Tensor output_of(const TensorHandles& made, size_t i) const {
    Tensor output = made.left(i, kWhat);
    if (!output.defined() && i < required_outputs_) fail(Code::kInvalidHandle, "", "%s left no output %zu", kWhat, i);
    return output;
  }

  Ref<Callback<htone_forward_fn>> callback_;
  nn::Arity arity_;
  size_t required_outputs_;  // the first ones, which the callback must leave
};

int32_t checked_tensor_count(int32_t count, int32_t most, const char* field) {
  if (count >= 1 && count <= most) return count;
  fail(Code::kInvalidArgument, "options", "options.%s=%d is outside [1, %d]", field, count, most);
}

struct CustomTensors {
  nn::Arity arity;
  size_t required_outputs;
};

CustomTensors custom_tensors(const htone_custom_options* options) {
  const htone_custom_options given = options_or_default(options, htone_custom_options(HTONE_CUSTOM_OPTIONS_INIT));
  const int32_t inputs = checked_tensor_count(given.input_count, HTONE_MAX_MODULE_TENSORS, "input_count");
  const int32_t required = checked_tensor_count(given.required_inputs, inputs, "required_inputs");
  const int32_t outputs = checked_tensor_count(given.output_count, HTONE_MAX_MODULE_TENSORS, "output_count");
  const int32_t left =
      given.required_outputs == 0 ? outputs : checked_tensor_count(given.required_outputs, outputs, "required_outputs");
  return {.arity = {.required_inputs = static_cast<size_t>(required),
                    .inputs = static_cast<size_t>(inputs),
                    .outputs = static_cast<size_t>(outputs)},
          .required_outputs = static_cast<size_t>(left)};
}

nn::Custom& as_custom(nn::Module& module) {
  auto* custom = dynamic_cast<nn::Custom*>(&module);
  if (custom == nullptr) fail(Code::kState, "module", "module is not one of htone_module_create_custom");
  return *custom;
}

std::vector<Tensor> record(const Ref<CustomFunction>& function, const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& outputs, const std::vector<Tensor>& saved) {
  return record_custom(function, {.inputs = inputs, .outputs = outputs, .saved = saved});
}

void adopt_parameter(nn::Module& module, const char* name, const Ref<Parameter>& parameter) {
  as_custom(module).add_parameter(name, parameter);
}

void add_buffer(nn::Module& module, const char* name, const Tensor& tensor) {
  as_custom(module).add_buffer(name, tensor);
}

nn::Parts& parts_of(nn::Module& module) {
  auto* parts = dynamic_cast<nn::Parts*>(&module);
  if (parts != nullptr) return *parts;
  fail(Code::kState, "module", "module is of kind %s, whose children are fixed", module.kind());
}

void add_child(nn::Module& module, const char* name, const Ref<nn::Module>& child) {
  parts_of(module).add_module(name, child);
}

void replace_child(nn::Module& module, const char* name, const Ref<nn::Module>& child) {
  parts_of(module).replace_module(name, child);
}

void replace_parameter(nn::Module& module, const char* name, const Ref<Parameter>& parameter) {
  module.replace_parameter(name, parameter);
}

void replace_buffer(nn::Module& module, const char* name, const Tensor& tensor) {
  as_custom(module).replace_buffer(name, tensor);
}

void remove_part(nn::Module& module, const char* name) { parts_of(module).remove(name); }

}  // namespace

htone_status htone_function_create(const char* name, htone_backward_fn callback, void* user,
                                   void (*destroy)(void* user), htone_function** out) {
  return guard([&] {
    checked_name(name, "name");
    const Ref<Callback<htone_backward_fn>> owned = make_callback(callback, user);
    require_memory(out, "out");
    give_handle(out, make_ref<CallbackFunction>(name, owned));
    owned->set_destroy(destroy);
  });
}

htone_status htone_function_record(htone_function* function, size_t input_count, htone_tensor* const* inputs,
                                   size_t output_count, htone_tensor* const* outputs, size_t saved_count,
                                   htone_tensor* const* saved, htone_tensor** out_results) {
  return Call(record, shared(function), as<some_inputs>(input_count, inputs), as<some_outputs>(output_count, outputs),
              several(saved_count, saved), tensors(out_results));
}

htone_status htone_module_create_custom(htone_forward_fn callback, void* user, void (*destroy)(void* user),
                                        const htone_custom_options* options, htone_module** out) {
  return guard([&] {
    const Ref<Callback<htone_forward_fn>> owned = make_callback(callback, user);
    const CustomTensors counts = custom_tensors(options);
    require_memory(out, "out");
    give_handle(out, make_ref<CallbackModule>(owned, counts.arity, counts.required_outputs));
    owned->set_destroy(destroy);
  });
}

htone_status htone_module_add_parameter(htone_module* module, const char* name, htone_parameter* parameter) {
  return Call(adopt_parameter, module, as<checked_name>(name), shared(parameter));
}

htone_status htone_module_add_buffer(htone_module* module, const char* name, htone_tensor* tensor) {
  return Call(add_buffer, module, as<checked_name>(name), tensor);
}

htone_status htone_module_add_child(htone_module* module, const char* name, htone_module* child) {
  return Call(add_child, module, as<checked_name>(name), shared(child));
}

htone_status htone_module_replace_child(htone_module* module, const char* name, htone_module* child) {
  return Call(replace_child, module, as<checked_name>(name), shared(child));
}

htone_status htone_module_replace_parameter(htone_module* module, const char* name, htone_parameter* parameter) {
  return Call(replace_parameter, module, as<checked_name>(name), shared(parameter));
}

htone_status htone_module_replace_buffer(htone_module* module, const char* name, htone_tensor* tensor) {
  return Call(replace_buffer, module, as<checked_name>(name), tensor);
}

htone_status htone_module_remove(htone_module* module, const char* name) {
  return Call(remove_part, module, as<checked_name>(name));
}
