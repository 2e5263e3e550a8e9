/* Judges the calls of the generated misuse test: every kind of bad handle, poisoned memory for results, what a refusal
 * must say and leave. Main thread only.
 */
#ifndef HALFTONE_TESTS_CAPI_MISUSE_JUDGE_H
#define HALFTONE_TESTS_CAPI_MISUSE_JUDGE_H

#include "misuse_fixture.h"

/* Makes the fixture, too. */
void begin_misuse(const char* function);
/* Asserts that no call since begin_misuse was judged wrong. */
void end_misuse(void);

/* Memory for a function's k-th result, filled with a pattern that a refused call must leave. */
enum { kResults = 4, kResultBytes = 1024 };
void* result_memory(int k);
/* Takes what the results hold now for what they must hold after a refused call. */
void note_results(void);
/* After a call that succeeded and whose results were released: brings the pattern back and asks for no handle left. */
void reset_results(void);

/* The i-th handle that is none of `kind`: NULL, random, foreign, released, released with its slot in use again. NULL
 * for `what` ends the list; `what` of NULL itself is "NULL" and comes first. */
typedef struct BadHandle {
  const char* what;
  void* handle;
} BadHandle;

BadHandle bad_handle(HandleKind kind, size_t i);

/* Judges a call whose one wrong argument was `what` at `index`. `text` must be in the message beside the argument's
 * name. */
typedef struct Wrong {
  const char* argument;
  int32_t index;
  const char* what;
  htone_status expected;
  const char* text;
} Wrong;

void refused(Wrong wrong, htone_status actual);
/* The same where the error is not recorded. */
void refused_silently(Wrong wrong, htone_status actual);
/* Judges a call that must succeed. */
void accepted(const char* what, htone_status actual);

void a_million_random_handles_are_refused(void** state);

#endif
