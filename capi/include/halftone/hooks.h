/** @file
 * Hooks: callbacks before and after a module's forward, on a gradient that arrives at a tensor, and on a parameter
 * whose gradient is complete. Hooks of one kind on one object are called in the order in which they were added. A hook
 * that is removed during such a round is not called any more; one that is added is first called in the next round.
 * Adding changes the object, so no other thread may use it meanwhile; removing is safe from any thread.
 *
 * Callbacks follow the rules of custom.h. A failure stops the forward or the backward; the gradients that a failed
 * backward reached are invalid until they are zeroed.
 *
 * @code
 * static htone_status count_calls(htone_parameter* parameter, void* user) {
 *   (void)parameter;
 *   ++*(int*)user;
 *   return HTONE_OK;
 * }
 *
 * htone_parameter* weight;
 * htone_hook* hook;
 * int calls = 0;
 * check(htone_module_parameter(model, 0, &weight));
 * check(htone_parameter_add_post_accumulate_hook(weight, count_calls, &calls, NULL, &hook));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_hook_remove(hook));
 * assert(calls == 1);
 * @endcode
 */
#ifndef HALFTONE_HOOKS_H
#define HALFTONE_HOOKS_H

#include "halftone/forward.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One registration. The hook stays when the handle is released, and the handle keeps neither the hook nor its object
 * alive.
 */
typedef struct htone_hook htone_hook;

/** May store references to other inputs at call->out_tensors [call->input_count]; NULL keeps an input, or its absence.
 * call->outputs is NULL.
 */
typedef htone_status (*htone_forward_pre_hook_fn)(htone_module* module, const htone_forward_call* call, void* user);
/** May store references to other outputs at call->out_tensors [call->output_count]; NULL keeps an output. call->inputs
 * are those of forward.
 */
typedef htone_status (*htone_forward_hook_fn)(htone_module* module, const htone_forward_call* call, void* user);
/** May store a reference to another gradient at out_gradient, which the library releases: shape of gradient, any of
 * f64, f32, f16 and bf16; NULL keeps the gradient. `gradient` must not be written.
 */
typedef htone_status (*htone_gradient_hook_fn)(htone_tensor* gradient, htone_tensor** out_gradient, void* user);
/** Receives the parameter whose gradient is complete. */
typedef htone_status (*htone_parameter_hook_fn)(htone_parameter* parameter, void* user);

/** Calls a hook before each forward of a module, alone or as a part of another.
 *
 * @param[in] module borrowed.
 * @param[in] callback called on several threads at once if they run the module at once, as in evaluation mode.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user`, from any thread, when the hook was removed or the module was freed;
 *   optional. On failure it does not run.
 * @param[out] out the registration; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_add_forward_pre_hook(htone_module* module, htone_forward_pre_hook_fn callback,
                                                         void* user, void (*destroy)(void* user), htone_hook** out);

/** Calls a hook after each forward of a module.
 *
 * @param[in] module borrowed.
 * @param[in] callback as in htone_module_add_forward_pre_hook.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy as in htone_module_add_forward_pre_hook; optional.
 * @param[out] out the registration; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_add_forward_hook(htone_module* module, htone_forward_hook_fn callback, void* user,
                                                     void (*destroy)(void* user), htone_hook** out);

/** Calls a hook when backward has computed a tensor's gradient, the sum of all contributions: before backward uses it
 * further or, at a leaf, before it is added to the leaf's gradient. It is called once in a backward, and not if there
 * is no gradient.
 *
 * @param[in] tensor requires a gradient; borrowed. The hook belongs to the source of the tensor's gradient: tensors
 *   that represent one parameter share it.
 * @param[in] callback runs on the thread that runs backward, with recording and autocast off.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user`, from any thread, when the hook was removed or its object was freed;
 *   optional. On failure it does not run.
 * @param[out] out the registration; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (tensor requires no gradient), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_add_gradient_hook(htone_tensor* tensor, htone_gradient_hook_fn callback, void* user,
                                                      void (*destroy)(void* user), htone_hook** out);

/** Calls a hook when a backward has added all its contributions to a parameter's gradient: this gradient is complete
 * then, others may not be. The hook may read, clip or zero the gradient, or update the parameter. If the gradient is
 * invalid since an earlier backward failed, the hook is not called. The hook ends with the parameter, also if backward
 * still runs on a graph that was recorded before.
 *
 * @param[in] parameter borrowed.
 * @param[in] callback runs on the thread that runs backward.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user`, from any thread, when the hook was removed or the parameter was freed;
 *   optional. On failure it does not run.
 * @param[out] out the registration; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_add_post_accumulate_hook(htone_parameter* parameter,
                                                                htone_parameter_hook_fn callback, void* user,
                                                                void (*destroy)(void* user), htone_hook** out);

/** Removes a hook. A call of it on this thread ends first; calls on other threads may still run. A second removal does
 * nothing.
 *
 * @param[in] hook borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_hook_remove(htone_hook* hook);

/** Adds a reference.
 *
 * @param[in] hook a registration.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_hook_retain(htone_hook* hook);

/** Releases a reference; the hook stays in place.
 *
 * @param[in] hook optional; a registration.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_hook_release(htone_hook* hook);

#ifdef __cplusplus
}
#endif

#endif
