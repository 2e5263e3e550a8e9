/* Custom functions, modules, hooks and schedules: their callbacks do nothing, do something, or fail. */
#include "calls.h"

/* The user pointer of a callback points to the action that it performs. */
enum { kNothing, kPasses, kComputes, kFails, kActs };
static int acts[kActs] = {kNothing, kPasses, kComputes, kFails};
static int lent;

int lent_users(void) { return lent; }

static void take_back(void* user) {
  (void)user;
  --lent;
}

static int* act_in(Machine* machine) { return &acts[byte(machine) % kActs]; }

/* If the call succeeded, the library now owns the user pointer. */
static htone_status lend(htone_status status) {
  if (status == HTONE_OK) ++lent;
  return status;
}

/* Makes the callback's result from its input, as the action demands. */
static htone_status act_on(htone_tensor* input, htone_tensor** out, const int* act) {
  if (*act == kFails) return HTONE_ERROR_CALLBACK;
  if (*act == kNothing || input == NULL) return HTONE_OK;
  if (*act == kComputes) return htone_rescale(input, 2, 0, out);
  *out = input;
  return htone_tensor_retain(input);
}

static htone_status go_back(const htone_backward_call* call, void* user) {
  htone_status status = HTONE_OK;
  for (size_t i = 0; i < call->input_count && status == HTONE_OK; ++i) {
    if (call->needs_grad[i]) {
      status = act_on(call->grad_outputs[i % call->output_count], &call->out_grad_inputs[i], user);
    }
  }
  return status;
}

static htone_status go_forward(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module;
  return act_on(input, out, user);
}

static htone_status see_output(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module;
  return act_on(call->outputs[0], call->out_tensors, user);
}

static htone_status see_gradient(htone_tensor* gradient, htone_tensor** out, void* user) {
  return act_on(gradient, out, user);
}

static htone_status see_parameter(htone_parameter* parameter, void* user) {
  int32_t frozen = 0;
  if (*(int*)user == kFails) return HTONE_ERROR_CALLBACK;
  return htone_parameter_is_frozen(parameter, &frozen);
}

static htone_status factor_at(int64_t position, double* out_factor, void* user) {
  if (*(int*)user == kFails) return HTONE_ERROR_CALLBACK;
  *out_factor = *(int*)user == kNothing ? -1 : 1.0 / ((double)position + 1);
  return HTONE_OK;
}

htone_status make_function(Machine* machine) {
  htone_function* made = NULL;
  const char* name = name_in(machine);
  const htone_status status = lend(htone_function_create(name, go_back, act_in(machine), take_back, &made));
  return keep(machine, kFunction, status, made);
}

htone_status record_function(Machine* machine) {
  htone_tensor *inputs[2], *outputs[2], *saved[2];
  htone_function* function = function_in(machine);
  const uint8_t counts = byte(machine);
  for (int i = 0; i < 2; ++i) {
    inputs[i] = tensor_in(machine);
    outputs[i] = tensor_in(machine);
    saved[i] = tensor_in(machine);
  }
  return htone_function_record(function, counts % 3, inputs, counts / 3 % 3, outputs, counts / 9 % 3, saved,
                               machine->made);
}

htone_status make_custom_module(Machine* machine) {
  htone_module* made = NULL;
  const htone_status status = lend(htone_module_create_custom(go_forward, act_in(machine), take_back, NULL, &made));
  return keep(machine, kModule, status, made);
}

htone_status add_to_module(Machine* machine) {
  const uint8_t choice = byte(machine) % 3;
  htone_module* module = module_in(machine);
  const char* name = name_in(machine);
  if (choice == 0) return htone_module_add_parameter(module, name, parameter_in(machine));
  return choice == 1 ? htone_module_add_buffer(module, name, tensor_in(machine))
                     : htone_module_add_child(module, name, module_in(machine));
}

htone_status change_module(Machine* machine) {
  const uint8_t choice = byte(machine) % 4;
  htone_module* module = module_in(machine);
  const char* name = name_in(machine);
  if (choice == 0) return htone_module_replace_parameter(module, name, parameter_in(machine));
  if (choice == 1) return htone_module_replace_buffer(module, name, tensor_in(machine));
  return choice == 2 ? htone_module_replace_child(module, name, module_in(machine)) : htone_module_remove(module, name);
}

htone_status add_hook(Machine* machine) {
  htone_hook* made = NULL;
  htone_status status;
  const uint8_t choice = byte(machine) % 4;
  int* act = act_in(machine);
  if (choice == 0) {
    status = htone_module_add_forward_pre_hook(module_in(machine), go_forward, act, take_back, &made);
  } else if (choice == 1) {
    status = htone_module_add_forward_hook(module_in(machine), see_output, act, take_back, &made);
  } else if (choice == 2) {
    status = htone_tensor_add_gradient_hook(tensor_in(machine), see_gradient, act, take_back, &made);
  } else {
    status = htone_parameter_add_post_accumulate_hook(parameter_in(machine), see_parameter, act, take_back, &made);
  }
  return keep(machine, kHook, lend(status), made);
}

htone_status remove_hook(Machine* machine) { return htone_hook_remove(hook_in(machine)); }

htone_status make_callback_schedule(Machine* machine) {
  htone_schedule* made = NULL;
  const htone_status status = lend(htone_schedule_create_callback(factor_at, act_in(machine), take_back, &made));
  return keep(machine, kSchedule, status, made);
}
