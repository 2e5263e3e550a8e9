/** @file
 * Ends long calls early, as Ctrl-C does. The program sets a number, for example in a signal handler. A call that
 * computes or waits reads it, and ends with CANCELLED. Everything is then as after a call that failed for lack of
 * memory: an update of weights is whole or has not begun, and the gradients of a backward that did not end are dropped.
 *
 * Calls read the number where they make a tensor, so that one kernel runs to its end; and twenty times a second while
 * they wait for an operation of a group, which goes on after the call, or for a key of a store. Threads of the library,
 * and calls that free or describe an object, do not read it. Other ranks see CANCELLED as any error of this rank.
 *
 * @code
 * static volatile int32_t stop_requested; // a handler of SIGINT sets it to 1
 * htone_status status;
 * check(htone_interrupt_set_callback(&stop_requested, NULL, NULL, NULL));
 * stop_requested = 1;
 * status = htone_exp(x, &y);
 * assert(status == HTONE_ERROR_CANCELLED);
 * stop_requested = 0;
 * check(htone_exp(x, &y));
 * @endcode
 */
#ifndef HALFTONE_INTERRUPT_H
#define HALFTONE_INTERRUPT_H

#include "halftone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Decides if the call of this thread ends. It may call the library, and may set the number to 0. OK lets the call go
 * on; any other value ends it, and becomes the error's native_code.
 */
typedef htone_status (*htone_interrupt_fn)(void* user);

/** Sets the number that calls read. A process has one, and none by default.
 *
 * @param[in] flag read by any thread; must stay valid until it is replaced; optional, NULL ends no calls.
 * @param[in] callback called on the thread of each call that finds another value than 0, as long as it does; optional,
 *   NULL ends the call.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user` when the callback is replaced and no longer runs; optional.
 * @errors OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_interrupt_set_callback(const volatile int32_t* flag, htone_interrupt_fn callback,
                                                    void* user, void (*destroy)(void* user));

#ifdef __cplusplus
}
#endif

#endif
