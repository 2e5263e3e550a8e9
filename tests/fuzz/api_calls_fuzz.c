/* The input describes up to 16 calls on a few small tensors and on the results of earlier calls. Arguments are often
 * odd: handles that were released or never existed, sizes from INT64_MIN to INT64_MAX, callbacks that fail. A call may
 * return any status except INTERNAL. */
#include "calls/calls.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { kMaxCalls = 16, kMemoryLimit = 1 << 18 };

/* The corpus refers to calls by their index, so new calls must be added at the end. */
static const Call kCalls[] = {make_tensor,
                              call_unary,
                              call_binary,
                              call_reduce,
                              call_along,
                              call_reshape,
                              call_view,
                              call_convert,
                              call_conv,
                              call_pool,
                              call_norm,
                              change_tensor,
                              read_tensor,
                              go_backward,
                              release_something,
                              make_module,
                              use_module,
                              make_optimizer,
                              use_optimizer,
                              begin_scope,
                              end_scope,
                              call_ternary,
                              call_loss,
                              call_einsum,
                              call_join,
                              call_split,
                              call_pad,
                              call_index,
                              make_over_buffer,
                              lend_tensor,
                              describe_tensor,
                              make_conv_module,
                              make_plain_module,
                              join_modules,
                              read_module,
                              make_function,
                              record_function,
                              make_custom_module,
                              add_to_module,
                              change_module,
                              add_hook,
                              remove_hook,
                              make_callback_schedule,
                              make_parameter,
                              use_parameter,
                              make_parameters,
                              read_parameters,
                              add_group,
                              make_schedule,
                              make_scaler,
                              use_scaler,
                              make_ema,
                              use_ema,
                              make_policy,
                              use_policy,
                              ask_device,
                              make_state_dict,
                              use_state_dict,
                              load_state_dict,
                              make_sampler,
                              use_sampler,
                              make_checkpoint,
                              add_to_checkpoint,
                              use_checkpoint,
                              call_choose,
                              call_resize,
                              call_conv3d,
                              call_layer,
                              call_attention,
                              call_distance,
                              call_image,
                              call_volume,
                              call_numbers,
                              call_round,
                              set_recipe,
                              make_scaled,
                              load_scaled,
                              use_scaled,
                              make_statistics,
                              record_step,
                              use_statistics};

static void keep_made(Machine* machine, htone_status status) {
  for (int i = 0; i < kMaxMade; ++i) {
    require(status == HTONE_OK || machine->made[i] == NULL, "a failed call makes nothing");
    if (machine->made[i] != NULL) keep(machine, kTensor, status, machine->made[i]);
    machine->made[i] = NULL;
  }
}

static void run_call(Machine* machine) {
  const htone_status status = kCalls[byte(machine) % (sizeof kCalls / sizeof *kCalls)](machine);
  require(status != HTONE_ERROR_INTERNAL, "no call fails for a reason of its own");
  keep_made(machine, status);
}

/* Larger tensors take time and find nothing new. */
static void limit_memory(void) {
  static int is_limited = 0;
  if (is_limited) return;
  is_limited = 1;
  require(htone_device_set_memory_limit(memory_device(NULL), kMemoryLimit) == HTONE_OK, "a limit");
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Machine machine;
  limit_memory();
  remove_files();
  open_machine(&machine, data, size);
  for (int i = 0; i < kMaxCalls && machine.next < machine.end; ++i) run_call(&machine);
  close_machine(&machine);
  require_no_handles();
  require(lent_users() == 0, "every user was released");
  return 0;
}
