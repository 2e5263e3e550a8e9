#include "halftone/custom.h"

#include "callback.h"
#include "guard.h"
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

  Tensor forward(const Tensor& input) const override {
    const LentHandle<htone_module> self(shared(*this));
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

nn::Custom& unwrap_custom(htone_module* module) {
  auto* custom = dynamic_cast<nn::Custom*>(unwrap(module, "module").get());
  if (custom == nullptr) fail(Code::kState, "module", "module is not one of htone_module_create_custom");
  return *custom;
}

void require_some(size_t count, const char* argument) {
  if (count == 0) fail(Code::kInvalidArgument, argument, "%s=0, expected at least 1", argument);
}

}  // namespace

htone_status htone_function_create(const char* name, htone_backward_fn callback, void* user,
                                   void (*destroy)(void* user), htone_function** out) {
  return guard([&] {
    require_name(&require(name, "name"));
    const Ref<Callback<htone_backward_fn>> owned = make_callback(callback, user);
    wrap(out, make_ref<CallbackFunction>(name, owned));
    owned->set_destroy(destroy);
  });
}

htone_status htone_function_retain(htone_function* function) {
  return guard([&] { retain_handle(function, "function"); });
}

htone_status htone_function_release(htone_function* function) {
  return guard([&] { release_handle(function, "function"); });
}

htone_status htone_function_record(htone_function* function, size_t input_count, htone_tensor* const* inputs,
                                   size_t output_count, htone_tensor* const* outputs, size_t saved_count,
                                   htone_tensor* const* saved, htone_tensor** out_results) {
  return guard([&] {
    const Ref<CustomFunction>& recorded = unwrap(function, "function");
    require_some(input_count, "input_count");
    require_some(output_count, "output_count");
    const CustomApplication application = {.inputs = unwrap_array(input_count, inputs, "inputs"),
                                           .outputs = unwrap_array(output_count, outputs, "outputs"),
                                           .saved = unwrap_array(saved_count, saved, "saved")};
    require(out_results, "out_results");
    TensorHandles results(record_custom(recorded, application));
    results.hand_over(out_results);
  });
}

htone_status htone_module_create_custom(htone_forward_fn callback, void* user, void (*destroy)(void* user),
                                        htone_module** out) {
  return guard([&] {
    const Ref<Callback<htone_forward_fn>> owned = make_callback(callback, user);
    wrap(out, make_ref<CallbackModule>(owned));
    owned->set_destroy(destroy);
  });
}

htone_status htone_module_add_parameter(htone_module* module, const char* name, htone_parameter* parameter) {
  return guard([&] {
    nn::Custom& owner = unwrap_custom(module);
    require_name(&require(name, "name"));
    owner.add_parameter(name, unwrap(parameter, "parameter"));
  });
}

htone_status htone_module_add_buffer(htone_module* module, const char* name, htone_tensor* tensor) {
  return guard([&] {
    nn::Custom& owner = unwrap_custom(module);
    require_name(&require(name, "name"));
    owner.add_buffer(name, unwrap(tensor, "tensor"));
  });
}

htone_status htone_module_add_child(htone_module* module, const char* name, htone_module* child) {
  return guard([&] {
    nn::Custom& owner = unwrap_custom(module);
    require_name(&require(name, "name"));
    owner.add_module(name, unwrap(child, "child"));
  });
}
