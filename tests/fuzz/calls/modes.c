/* Scopes, policies, and queries that change nothing. */
#include "calls.h"

htone_status make_policy(Machine* machine) {
  htone_autocast_policy* made = NULL;
  const htone_status status = htone_autocast_policy_create(dtype_in(machine), &made);
  return keep(machine, kPolicy, status, made);
}

/* A policy's recipe, or that of all linear layers in a module. */
htone_status set_recipe(Machine* machine) {
  htone_recipe_options options = HTONE_RECIPE_OPTIONS_INIT;
  htone_recipe* recipe = NULL;
  size_t count;
  options.history_length = byte(machine) % 5;
  options.format = byte(machine) % 5;
  htone_status status = htone_recipe_create(byte(machine) % 7, &options, &recipe);
  if (status == HTONE_OK) {
    status = flag(machine) ? htone_autocast_policy_set_recipe(policy_in(machine), recipe)
                           : htone_module_set_recipe_matching(module_in(machine), NULL, "linear", recipe, &count);
  }
  htone_recipe_release(recipe);
  return status;
}

htone_status use_policy(Machine* machine) {
  static const char* const ops[] = {"matmul", "softmax", "add", "einsum", "no such operation", NULL};
  htone_autocast_class autocast_class = 0;
  int64_t parameters = 0, tensors = 0;
  htone_autocast_policy* policy = policy_in(machine);
  const char* op = ops[byte(machine) % (sizeof ops / sizeof *ops)];
  htone_autocast_policy_class(policy, op, &autocast_class);
  htone_autocast_policy_cast_bytes(policy, &parameters, &tensors);
  if (flag(machine)) return htone_autocast_policy_reset_cast_bytes(policy);
  return htone_autocast_policy_set_class(policy, op, byte(machine) % 6);
}

htone_status begin_scope(Machine* machine) {
  const int place = machine->scopes[0] != NULL;
  htone_scope* scope = NULL;
  if (machine->scopes[1] != NULL) return HTONE_OK;
  const htone_status status =
      flag(machine) ? htone_no_grad_begin(&scope) : htone_autocast_begin(policy_in(machine), &scope);
  machine->scopes[place] = scope;
  return status;
}

/* The outer scope cannot be ended first. */
htone_status end_scope(Machine* machine) {
  const int inner = machine->scopes[1] != NULL;
  if (inner) require(htone_scope_end(machine->scopes[0]) == HTONE_ERROR_STATE, "scopes end from the inside");
  const htone_status status = htone_scope_end(machine->scopes[inner]);
  machine->scopes[inner] = NULL;
  return status;
}

/* Includes the queries about dtypes that need no device. */
htone_status ask_device(Machine* machine) {
  char name[8];
  size_t length = 0, bytes = 0;
  htone_dtype promoted = 0;
  htone_device_type kind = 0;
  htone_memory_stats stats = {.struct_size = sizeof stats};
  const htone_dtype a = dtype_in(machine), b = dtype_in(machine);
  htone_dtype_size(a, &bytes);
  htone_dtype_promote(a, b, &promoted);
  require(htone_dtype_name(a) != NULL && htone_status_name((htone_status)b) != NULL, "a name for any number");
  htone_device_kind(machine->device, &kind);
  htone_device_name(machine->device, name, byte(machine) % (sizeof name + 1), &length);
  if (flag(machine)) htone_device_release_cached(machine->device);
  return htone_device_memory_stats(machine->device, &stats);
}
