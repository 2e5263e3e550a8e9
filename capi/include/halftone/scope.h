/** @file
 * Scopes: each covers the calls of one thread between its begin and its end. A scope of htone_handles_begin releases
 * the handles that these calls returned; those of htone_no_grad_begin and htone_autocast_begin change how operations
 * work. Scopes nest, and end in reverse order on the thread that began them; htone_scope_end_later is for a program
 * that cannot do so, and scope_stack.h for one that moves between threads. A forward, backward or hook callback may
 * begin scopes; those that it leaves open end with it.
 *
 * Inside a scope of handles, a program does not release its temporary tensors by hand:
 *
 * @code
 * htone_scope* scope;
 * htone_tensor* square;
 * check(htone_handles_begin(&scope));
 * check(htone_mul(x, x, &square));
 * check(htone_sum(square, 0, NULL, 0, &y));
 * check(htone_keep(y));          // outlives the scope
 * check(htone_scope_end(scope)); // releases square
 * check(htone_tensor_item(y, &number));
 * assert(number == 91);
 * @endcode
 */
#ifndef HALFTONE_SCOPE_H
#define HALFTONE_SCOPE_H

#include "halftone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A scope that one thread has begun. */
typedef struct htone_scope htone_scope;

/** Begins a scope that owns every handle that calls of this thread return from now on, except scopes. htone_scope_end
 * releases them, the last one first. The scope owns one reference of each: the caller may release a handle by hand
 * earlier, unless it was retained elsewhere. To keep a handle longer, retain it or call htone_keep.
 *
 * @param[out] out the scope; owned by the caller.
 * @errors INVALID_ARGUMENT, STATE (inside another call of this thread that is no callback), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_handles_begin(htone_scope** out);

/** Removes a handle from the innermost scope of handles. From now on the next outer scope owns it, or the caller if
 * there is none. Does nothing for a handle that the innermost scope does not own.
 *
 * @param[in] handle optional; a live handle of any type.
 * @errors INVALID_HANDLE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_keep(void* handle);

/** Ends a scope: restores the modes from before it, releases the handles that it owns, and releases its own handle.
 *
 * @param[in] scope the innermost one of this thread; or any scope of a thread that has ended. The modes ended with
 *   that thread, so the call then only releases handles and changes no mode of this thread.
 * @errors INVALID_HANDLE, STATE (of another thread that still runs, or of a stack that this thread has not entered; not
 *   the innermost; begun before the current callback). Then the scope is still open.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_scope_end(htone_scope* scope);

/** Ends a scope that htone_scope_end refuses, as soon as its thread can: at the thread's next call of the library that
 * finds the scope innermost and outside of the calls under way, or when the thread ends. A program that begins a scope
 * and then goes on in another thread, as after an `await`, would otherwise leave the first thread in the scope's mode.
 * A scope that can be ended now ends now.
 *
 * @param[in] scope any open scope, of any thread; the handle must not be used after the call. Until the scope ends, its
 *   thread keeps its mode: operations that it still records in the scope follow that mode.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_scope_end_later(htone_scope* scope);

#ifdef __cplusplus
}
#endif

#endif
