/* Runs a test's changes to a whole process in a forked child: other permissions, limits or modes. A child reports by
 * its exit code. It neither asserts nor prints, because CMocka's state belongs to the parent. */
#ifndef HALFTONE_TESTS_CAPI_TEST_CHILD_H
#define HALFTONE_TESTS_CAPI_TEST_CHILD_H

#include "run_tests.h"
#include "sanitizers.h"

enum { kCannotTry = 77 };

/* Runs child(argument) in a fork of this process, which an alarm ends after two minutes. Returns the child's result, or
 * -1 if a signal ended it. */
int code_of_child(int (*child)(void* argument), void* argument);

/* Gives up root's rights permanently, for tests from whose checks root would be exempt. Returns whether the process is
 * now another user than root. */
int become_other_user(void);

/* Sets only the soft limit, so that the process may raise it again. Returns whether that was allowed. */
int set_soft_limit(int resource, uint64_t value);

/* Number of threads of this process; 0 if the system does not provide it. */
int thread_count(void);

enum { kSanitized = HALFTONE_ANY_SANITIZER };

int under_valgrind(void);

/* Ends the test as skipped and prints the reason. */
void skip_test(const char* reason);

/* For features that memcheck cannot emulate: floating-point modes, limits that memcheck itself exceeds, other threads'
 * memory in a forked child. */
void skip_under_valgrind(void);

#endif
