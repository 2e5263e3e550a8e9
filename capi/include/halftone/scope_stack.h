/** @file
 * Stacks of scopes: scopes that go along with a line of execution from thread to thread. A scope (scope.h) belongs to
 * the thread that began it, so a coroutine, an `await`, a goroutine or a virtual thread that goes on in another thread
 * would leave it behind. Such a runtime gives each line of execution a stack, enters it whenever a thread begins to
 * run the line, and leaves it whenever the thread stops. Between the two, all scopes and modes are those of the stack.
 *
 * @code
 * // on the first thread
 * htone_scope_stack* stack;
 * htone_scope* no_grad;
 * int32_t recorded;
 * check(htone_scope_stack_create(&stack));
 * check(htone_scope_stack_enter(stack));
 * check(htone_no_grad_begin(&no_grad));
 * check(htone_scope_stack_leave(stack)); // here gradients are recorded again
 *
 * // later, on any thread
 * check(htone_scope_stack_enter(stack)); // here they are not
 * check(htone_module_forward(model, x, NULL, &y));
 * check(htone_tensor_requires_grad(y, &recorded));
 * assert(!recorded);
 * check(htone_tensor_release(y));
 * check(htone_scope_end(no_grad));
 * check(htone_scope_stack_leave(stack));
 * check(htone_scope_stack_release(stack));
 * @endcode
 */
#ifndef HALFTONE_SCOPE_STACK_H
#define HALFTONE_SCOPE_STACK_H

#include "halftone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Scopes that no thread owns. */
typedef struct htone_scope_stack htone_scope_stack;

/** Makes a stack without scopes: gradients are recorded, and nothing is cast.
 *
 * @param[out] out the stack; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_scope_stack_create(htone_scope_stack** out);

/** Puts the scopes and modes of the stack in the place of the calling thread's, until the thread leaves the stack.
 * Scopes that the thread had open before wait until then. Stacks nest. A callback that enters a stack and does not
 * leave it leaves it when it ends, and so does a thread.
 *
 * @param[in] stack one that no thread has entered; retained until it is left.
 * @errors INVALID_HANDLE, STATE (a thread has entered it; or inside another call of this thread that is no callback),
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_scope_stack_enter(htone_scope_stack* stack);

/** Gives the calling thread back the scopes and modes from before it entered the stack. Scopes of the stack stay open.
 *
 * @param[in] stack the one that this thread entered last.
 * @errors INVALID_HANDLE, STATE (not the one entered last; entered before the current callback).
 * @since 0.1
 */
HTONE_API htone_status htone_scope_stack_leave(htone_scope_stack* stack);

/** Adds a reference.
 *
 * @param[in] stack borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_scope_stack_retain(htone_scope_stack* stack);

/** Releases a reference. With the last one the modes of the stack end. Scopes that are still open may then be ended on
 * any thread, as those of a thread that has ended. NULL is OK.
 *
 * @param[in] stack its reference is the caller's; optional.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_scope_stack_release(htone_scope_stack* stack);

#ifdef __cplusplus
}
#endif

#endif
