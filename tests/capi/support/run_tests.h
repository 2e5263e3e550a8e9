/* Shared by every C test program: a main that runs tests by name, one context with a device, assertions on statuses
 * that show the library's message, and handles that are released when their test ends. CMocka's assertions use
 * longjmp, so all of this is for the main thread only. A test with threads lets them fill a record and asserts on it
 * afterwards. */
#ifndef HALFTONE_TESTS_CAPI_RUN_TESTS_H
#define HALFTONE_TESTS_CAPI_RUN_TESTS_H

/* cmocka.h needs the four headers before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "halftone/halftone.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Runs the tests; if argv[1] is given, only those that match this pattern. Every test must leave the number of live
 * handles unchanged, and the program must end with none. Returns main's result. */
int run_program(int argc, char** argv, const struct CMUnitTest* tests, size_t count);

/* A context with two threads and its CPU device; borrowed. */
htone_context* test_context(void);
htone_device* test_device(void);

int64_t live_handles(void);

/* The native error code of this thread's last error. */
int32_t last_native_code(void);

/* Releases a handle when the test ends, whether it passes or not. Returns the handle. */
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
htone_graph* keep_graph(htone_graph* graph);
htone_scaled* keep_scaled(htone_scaled* scaled);
htone_statistics* keep_statistics(htone_statistics* statistics);
htone_hook* keep_hook(htone_hook* hook);
htone_store* keep_store(htone_store* store);
htone_group* keep_group(htone_group* group);
htone_work* keep_work(htone_work* work);
htone_device* keep_device(htone_device* device);
htone_context* keep_context(htone_context* context);

/* A kept context with the given options and defaults for the rest, and a kept device of it. */
htone_context* make_context(int32_t num_threads, uint64_t seed);
htone_device* make_device(htone_context* context);

/* Runs `work` to its end in a thread whose stack has this many bytes. */
void run_on_stack_of(size_t bytes, void* (*work)(void*), void* argument);

/* A folder of the running test. It is made on first use and removed with its content when the test ends. */
const char* test_folder(void);

/* Macros, so that a failure shows the caller's file and line. `part` is text that the message must contain. */
#define assert_ok(call) check_status((call), HTONE_OK, "", #call, __FILE__, __LINE__)
#define assert_fails(call, status, part) check_status((call), (status), (part), #call, __FILE__, __LINE__)

void check_status(htone_status actual, htone_status expected, const char* part, const char* call, const char* file,
                  int line);

#endif
