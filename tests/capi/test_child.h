/* What a test does to a whole process, it does to a forked child: other rights, other limits, other modes. A child
 * answers by its exit code; it neither asserts nor prints, for what CMocka does then belongs to the parent.
 */
#ifndef HALFTONE_TESTS_CAPI_TEST_CHILD_H
#define HALFTONE_TESTS_CAPI_TEST_CHILD_H

#include "run_tests.h"

enum { kCannotTry = 77 };

/* Runs child(argument) in a fork of this process, which an alarm ends after two minutes. Answers what it answered; -1
 * where a signal ended it. */
int code_of_child(int (*child)(void* argument), void* argument);

/* Gives up root's rights for good, for tests of what root would not feel. Answers whether this process is not root. */
int become_other_user(void);

/* Sets the soft limit alone, so that the process may raise it again. Answers whether that was allowed. */
int set_soft_limit(int resource, uint64_t value);

/* Threads of this process; 0 where the system does not tell. */
int thread_count(void);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kSanitized = 1 };
#else
enum { kSanitized = 0 };
#endif

int under_valgrind(void);

/* Ends the test as skipped, saying why. */
void skip_test(const char* reason);

/* For what memcheck cannot play: floating-point modes, limits that it needs to be wider itself, other threads' memory
 * in a forked child. */
void skip_under_valgrind(void);

#endif
