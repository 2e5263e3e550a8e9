#include "halftone/custom.h"

#include "autograd/tensor_lists.h"
#include "base/call.h"
#include "base/callback.h"
#include "nn/custom.h"

using namespace halftone;
using namespace halftone::capi;

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
  explicit CallbackModule(Ref<Callback<htone_forward_fn>> callback) : callback_(std::move(callback)) {}

  const char* kind() const noexcept override { return "custom"; }
  Tensor forward(const Tensor& input) const override {
    const LentHandle<htone_module> self(shared_module(*this));
    const LentHandle<htone_tensor> lent(input);
    TensorHandles out(1);
    callback_->call("forward of a custom module", self.get(), lent.get(), out.data());
    const Tensor output = out.left(0, "forward of a custom module");
    if (!output.defined()) fail(Code::kInvalidHandle, "", "forward of a custom module left no output");
    return output;
  }

 private:
  Ref<Callback<htone_forward_fn>> callback_;
};

nn::Custom& as_custom(nn::Module& module) {
  auto* custom = dynamic_cast<nn::Custom*>(&module);
  if (custom == nullptr) fail(Code::kState, "module", "module is not one of htone_module_create_custom");
  return *custom;
}

std::vector<Tensor> record(const Ref<CustomFunction>& function, const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& outputs, const std::vector<Tensor>& saved) {
  return record_custom(function, {.inputs = inputs, .outputs = outputs, .saved = saved});
}

void add_parameter(nn::Module& module, const char* name, const Ref<Parameter>& parameter) {
  as_custom(module).add_parameter(name, parameter);
}

void add_buffer(nn::Module& module, const char* name, const Tensor& tensor) {
  as_custom(module).add_buffer(name, tensor);
}

void add_child(nn::Module& module, const char* name, const Ref<nn::Module>& child) {
  as_custom(module).add_module(name, child);
}

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
                                        htone_module** out) {
  return guard([&] {
    const Ref<Callback<htone_forward_fn>> owned = make_callback(callback, user);
    require_memory(out, "out");
    give_handle(out, make_ref<CallbackModule>(owned));
    owned->set_destroy(destroy);
  });
}

htone_status htone_module_add_parameter(htone_module* module, const char* name, htone_parameter* parameter) {
  return Call(add_parameter, module, as<checked_name>(name), shared(parameter));
}

htone_status htone_module_add_buffer(htone_module* module, const char* name, htone_tensor* tensor) {
  return Call(add_buffer, module, as<checked_name>(name), tensor);
}

htone_status htone_module_add_child(htone_module* module, const char* name, htone_module* child) {
  return Call(add_child, module, as<checked_name>(name), shared(child));
}
