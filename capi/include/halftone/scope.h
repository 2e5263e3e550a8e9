/** @file
 * Scopes: stretches of work of one thread. A scope of htone_handles_begin releases the handles that calls returned in
 * it; those of htone_no_grad_begin and htone_autocast_begin change how operations work. Scopes nest, and end in reverse
 * order on the thread that began them. They may be begun inside a forward, backward or hook callback; those that a
 * callback leaves open end with it.
 *
 * A program that works inside scopes of handles releases none of its temporary tensors by hand:
 *
 * @code
 * htone_scope* scope;
 * htone_handles_begin(&scope);
 * htone_mul(x, x, &square);
 * htone_sum(square, 0, NULL, 0, &sum);
 * htone_keep(sum);          // outlives the scope
 * htone_scope_end(scope);   // releases square
 * @endcode
 */
#ifndef HALFTONE_SCOPE_H
#define HALFTONE_SCOPE_H

#include "halftone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct htone_scope htone_scope;

/** Begins a scope that owns every handle which calls of this thread return from now on, of all types but scopes.
 * htone_scope_end releases them, the last one first. The scope owns one reference of each: a handle may be released by
 * hand before, if nobody else retained it; who wants to hold one for longer retains it or calls htone_keep.
 *
 * @param[out] out the scope; owned by the caller.
 * @errors INVALID_ARGUMENT, STATE (another call of this thread is under way, which is no callback), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_handles_begin(htone_scope** out);

/** Takes a handle out of the innermost scope of handles: the scope around that one owns it from now on, or the caller
 * if there is none. Does nothing for a handle that the innermost scope does not own.
 *
 * @param[in] handle optional; a live handle of any type.
 * @errors INVALID_HANDLE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_keep(void* handle);

/** Ends a scope, brings back the modes from before it, releases the handles that it owns, and its own.
 *
 * @param[in] scope the innermost one of this thread; or any one of a thread that has ended. The modes ended with that
 *   thread, so the call only releases handles then, and changes no mode of this thread.
 * @errors INVALID_HANDLE, STATE (of another thread that still runs; not the innermost; begun before the callback that
 *   is under way). The scope lives on then.
 * @since 0.1
 */
HTONE_API htone_status htone_scope_end(htone_scope* scope);

#ifdef __cplusplus
}
#endif

#endif
