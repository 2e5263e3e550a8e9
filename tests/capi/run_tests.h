/* What every C test program shares: a main that runs tests by name, one context with a device, assertions on statuses
 * that show the library's message, and handles that are given back when their test ends. CMocka's assertions jump, so
 * all of this belongs to the main thread; a test that starts threads lets them fill a record and asserts on it
 * afterwards.
 */
#ifndef HALFTONE_TESTS_CAPI_RUN_TESTS_H
#define HALFTONE_TESTS_CAPI_RUN_TESTS_H

/* cmocka.h needs the four before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "halftone/halftone.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Runs the tests, only those that match the pattern argv[1] where there is one. Every test must leave the count of live
 * handles as it found it, and the program must end with none. Answers main's result. */
int run_program(int argc, char** argv, const struct CMUnitTest* tests, size_t count);

/* A context of two threads and its CPU device; borrowed. */
htone_context* test_context(void);
htone_device* test_device(void);

int64_t live_handles(void);

/* The native code of this thread's last error. */
int32_t last_native_code(void);

/* Gives a handle back when the test ends, whether it passes or not; answers the handle. */
htone_tensor* keep_tensor(htone_tensor* tensor);
htone_module* keep_module(htone_module* module);
htone_parameter* keep_parameter(htone_parameter* parameter);
htone_parameters* keep_parameters(htone_parameters* parameters);
htone_state_dict* keep_state_dict(htone_state_dict* state_dict);
htone_optimizer* keep_optimizer(htone_optimizer* optimizer);
htone_schedule* keep_schedule(htone_schedule* schedule);
htone_ema* keep_ema(htone_ema* ema);
htone_grad_scaler* keep_grad_scaler(htone_grad_scaler* scaler);
htone_autocast_policy* keep_policy(htone_autocast_policy* policy);
htone_sampler* keep_sampler(htone_sampler* sampler);
htone_batches* keep_batches(htone_batches* batches);
htone_function* keep_function(htone_function* function);
htone_hook* keep_hook(htone_hook* hook);
htone_device* keep_device(htone_device* device);
htone_context* keep_context(htone_context* context);

/* A kept context with the given options' other fields at their defaults, and a kept device of it. */
htone_context* make_context(int32_t num_threads, uint64_t seed);
htone_device* make_device(htone_context* context);

/* Runs `work` to its end in a thread with a stack of that many bytes. */
void run_on_stack_of(size_t bytes, void* (*work)(void*), void* argument);

/* A folder of the test's own, made on first use and removed with all that is in it when the test ends. */
const char* test_folder(void);

/* Macros for the sake of the caller's file and line alone. `part` is text that the message must contain. */
#define assert_ok(call) check_status((call), HTONE_OK, "", #call, __FILE__, __LINE__)
#define assert_fails(call, status, part) check_status((call), (status), (part), #call, __FILE__, __LINE__)

void check_status(htone_status actual, htone_status expected, const char* part, const char* call, const char* file,
                  int line);

#endif
