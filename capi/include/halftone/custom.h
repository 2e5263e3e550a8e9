/** @file
 * The caller's own functions and modules. A function has its own backward: the caller computes results by any code and
 * records them. A module has its own forward and holds parameters, buffers and further modules.
 *
 * Callbacks return HTONE_OK, or a status that stops the running call: that call returns CALLBACK, with this status as
 * native_code. No lock is held meanwhile, and a callback may call the library, also on the same objects. Scopes that a
 * callback begins end with it (scope.h). Handles that a callback receives are borrowed: retain one that must outlive
 * the callback. A callback must not throw or jump out.
 *
 * Every function of the caller that a call of the library runs (callbacks, destroy callbacks, deleters, the functions
 * of an allocator, of files and of a clock) runs in the default floating-point modes: round to nearest, subnormals
 * kept, no exception unmasked. Modes that it changes are restored when it returns, and the call restores the modes of
 * its own thread when it ends. Cancellation of the thread is disabled meanwhile (pthread_setcancelstate), and a change
 * of that is undone, too.
 *
 * @code
 * static htone_status residual(htone_module* module, const htone_forward_call* call, void* user) {
 *   htone_tensor* inner;
 *   const htone_status status = htone_module_forward_child(module, "inner", call->inputs[0], &inner);
 *   (void)user;
 *   return status == HTONE_OK ? htone_add(call->inputs[0], inner, call->out_tensors) : status;
 * }
 *
 * htone_module *block, *inner;
 * check(htone_module_create_relu(&inner));
 * check(htone_module_create_custom(residual, NULL, NULL, NULL, &block));
 * check(htone_module_add_child(block, "inner", inner));
 * check(htone_module_forward(block, x, NULL, &y)); // x + relu(x)
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[5] == 12);
 * @endcode
 */
#ifndef HALFTONE_CUSTOM_H
#define HALFTONE_CUSTOM_H

#include "halftone/forward.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A backward that the caller wrote. */
typedef struct htone_function htone_function;

/** The inputs and results of one backward of a function. */
typedef struct htone_backward_call {
  uint32_t struct_size;              /**< size of this structure in the library */
  uint32_t reserved;                 /**< 0 */
  size_t saved_count;                /**< number of saved tensors */
  size_t output_count;               /**< number of outputs */
  size_t input_count;                /**< number of inputs */
  htone_tensor* const* saved;        /**< [saved_count]: the tensors that were recorded */
  htone_tensor* const* grad_outputs; /**< [output_count]: shapes of the outputs; NULL if the gradient is zero */
  const int32_t* needs_grad;         /**< [input_count]: 1 if a gradient is needed */
  htone_tensor** out_grad_inputs; /**< [input_count]: NULL, which means zero. The callback stores references here, which
                                     the library releases, also if the callback fails: tensors of the inputs' shapes, in
                                     f64, f32, f16 or bf16 */
} htone_backward_call;

/** Sets out_grad_inputs for each input whose needs_grad is 1. Recording and autocast are off. Runs on the thread that
 * called htone_tensor_backward.
 */
typedef htone_status (*htone_backward_fn)(const htone_backward_call* call, void* user);

/** Makes a function of a backward, to be recorded any number of times.
 *
 * @param[in] name for messages; 1 to 4096 bytes of UTF-8 without control characters; copied.
 * @param[in] callback computes the gradients of the inputs. Its failure leaves the gradients of the leaves that
 *   backward reached invalid until they are zeroed.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user`, from any thread, after the function and all graphs that it is recorded
 *   in were released; optional. On failure it does not run.
 * @param[out] out the function; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_function_create(const char* name, htone_backward_fn callback, void* user,
                                             void (*destroy)(void* user), htone_function** out);

/** Adds a reference.
 *
 * @param[in] function a function.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_function_retain(htone_function* function);

/** Releases a reference.
 *
 * @param[in] function optional; a function.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_function_release(htone_function* function);

/** Records outputs that the caller computed as the results of a function. Gradients pass only through its backward:
 * operations that were recorded while the outputs were computed are not part of it. Autocast has no effect here: to
 * get inputs in one dtype, cast them first with htone_cast, which is differentiable, and compute outside autocast.
 *
 * @param[in] function retained while backward may run.
 * @param[in] input_count at least 1.
 * @param[in] inputs [input_count]; borrowed, their sources of gradients are retained.
 * @param[in] output_count at least 1.
 * @param[in] outputs [output_count]; computed by the caller from the inputs; borrowed.
 * @param[in] saved_count may be 0.
 * @param[in] saved [saved_count]; tensors for backward; retained until it has run; optional if saved_count is 0. If
 *   one of them is written before backward, backward returns STATE.
 * @param[out] out_results [output_count]; over the memory of outputs. They require a gradient if this thread records,
 *   an input requires one, and they are f64, f32, f16 or bf16. Owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (inside backward: no gradients of gradients), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_function_record(htone_function* function, size_t input_count, htone_tensor* const* inputs,
                                             size_t output_count, htone_tensor* const* outputs, size_t saved_count,
                                             htone_tensor* const* saved, htone_tensor** out_results);

/** Computes a module's outputs: stores a reference at each place of call->out_tensors. The modes of the thread are
 * those of htone_module_forward's caller; run parts by htone_module_forward with a policy of NULL, which keeps these
 * modes. It runs on several threads at once if they run the module at once. If the module, or one around it, is
 * marked for recomputation (recompute.h), backward calls it again, and it must compute the same from its inputs.
 */
typedef htone_status (*htone_forward_fn)(htone_module* module, const htone_forward_call* call, void* user);

/** Settings of htone_module_create_custom. */
typedef struct htone_custom_options {
  uint32_t struct_size;     /**< sizeof of this structure */
  int32_t input_count;      /**< inputs that forward takes, 1 to 64; default 1 */
  int32_t required_inputs;  /**< the first of them, which the library requires; 1 to input_count; default 1 */
  int32_t output_count;     /**< outputs that forward gives, 1 to 64; default 1 */
  int32_t required_outputs; /**< the first of them, which forward must leave, 1 to output_count; those beyond may be
                               absent: NULL; default 0, which means all of them */
} htone_custom_options;

/** The defaults, to initialize a htone_custom_options where it is declared. */
#define HTONE_CUSTOM_OPTIONS_INIT \
  { sizeof(htone_custom_options), 1, 1, 1, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_custom_options_init(htone_custom_options* options);

/** Makes a module with its own forward. Parameters, buffers and children are added to it under names; no other thread
 * may use the module meanwhile. The depth of children is limited (htone_module_add_child).
 *
 * @param[in] callback computes the outputs.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user`, from any thread, after the last reference to the module was released;
 *   optional. On failure it does not run.
 * @param[in] options optional; NULL means the defaults: one input and one output.
 * @param[out] out the module, without parameters; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED (options of a newer version), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_custom(htone_forward_fn callback, void* user, void (*destroy)(void* user),
                                                  const htone_custom_options* options, htone_module** out);

/** Adds a parameter, which optimizers, state dicts and htone_module_parameter then see.
 *
 * @param[in] module of htone_module_create_custom; borrowed.
 * @param[in] name 1 to 4096 bytes of UTF-8 without control characters and dots, not yet in the module; copied.
 * @param[in] parameter retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (not a custom module), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_add_parameter(htone_module* module, const char* name, htone_parameter* parameter);

/** Adds a buffer: a tensor of the module's state that no optimizer updates.
 *
 * @param[in] module of htone_module_create_custom; borrowed.
 * @param[in] name as in htone_module_add_parameter.
 * @param[in] tensor its memory is retained, is part of state dicts, and is written by a load.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (not a custom module; tensor is read-only or the result of a
 *   recorded operation), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_add_buffer(htone_module* module, const char* name, htone_tensor* tensor);

/** Adds a module as a part: its parameters and buffers are named "child.weight", and the mode of the module is set for
 * it, too. In a custom module its forward runs when the module's callback calls htone_module_forward; a sequential
 * module runs it behind its last one. At most 64 modules may be nested, as in htone_module_create_sequential.
 *
 * @param[in] module of htone_module_create_custom, htone_module_create_sequential or
 *   htone_module_create_named_sequential; borrowed.
 * @param[in] name as in htone_module_add_parameter; for a sequential module without names the next number: "3".
 * @param[in] child retained; keeps its mode until that of the module is set.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: child is the module or holds it, or module would have more than 64
 *   levels of nesting), STATE (a module of another kind), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_add_child(htone_module* module, const char* name, htone_module* child);

/** Puts another module in the place of a child, such as a new last layer for fine-tuning. Names and the order of the
 * children stay. Optimizers, sets of parameters, averages (ema.h) and the objects of ddp.h and fsdp.h that were made
 * before keep the parameters of the child that was replaced; add those of the new one by htone_optimizer_add_group. The
 * modes, hooks, frozen parameters and marks (recompute.h) of a module stay with it. No other thread may use the module
 * meanwhile, and no forward of it may run.
 *
 * @param[in] module as in htone_module_add_child; borrowed.
 * @param[in] name of the child that is replaced; it is released.
 * @param[in] child as in htone_module_add_child; retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (no child of the name; as in htone_module_add_child), STATE (a module of
 *   another kind), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_replace_child(htone_module* module, const char* name, htone_module* child);

/** Puts another parameter in the place of one, such as the weight of an embedding in the place of that of the last
 * layer. What was made before keeps the parameter that was replaced, as in htone_module_replace_child.
 *
 * @param[in] module of htone_module_create_custom; or a linear layer, a convolution, an embedding, a norm, an LSTM or a
 *   GRU, whose parameters keep their shape; borrowed. All parameters of a layer must be on one device when it runs.
 * @param[in] name of the parameter that is replaced, which is the module's own and not a child's; it is released.
 * @param[in] parameter retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (no parameter of the name that can be replaced), SHAPE_MISMATCH (a layer's),
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_replace_parameter(htone_module* module, const char* name,
                                                      htone_parameter* parameter);

/** Puts another tensor in the place of a buffer.
 *
 * @param[in] module of htone_module_create_custom; borrowed.
 * @param[in] name of the buffer that is replaced, which is the module's own and not a child's; it is released.
 * @param[in] tensor as in htone_module_add_buffer.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (no buffer of the name), STATE (not a custom module; tensor is read-only or
 *   the result of a recorded operation), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_replace_buffer(htone_module* module, const char* name, htone_tensor* tensor);

/** Removes a parameter, a buffer or a child. The children of a sequential module without names that come after it get
 * the numbers before theirs. What was made before keeps what was removed, as in htone_module_replace_child.
 *
 * @param[in] module as in htone_module_add_child; borrowed.
 * @param[in] name of the part, which is the module's own and not a child's; it is released.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (no part of the name), STATE (a module of another kind), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_remove(htone_module* module, const char* name);

#ifdef __cplusplus
}
#endif

#endif
