/* Judges the calls of the generated misuse test: every kind of bad handle, poisoned memory for results, the message of
 * a refusal, and the state after it. Main thread only. */
#ifndef HALFTONE_TESTS_CAPI_MISUSE_JUDGE_H
#define HALFTONE_TESTS_CAPI_MISUSE_JUDGE_H

#include "misuse_fixture.h"

/* Also makes the fixture. */
void begin_misuse(const char* function);
/* Asserts that every call since begin_misuse was judged correct. */
void end_misuse(void);

/* Memory for a function's k-th result, filled with a pattern. A refused call must not change the pattern. */
enum { kResults = 4, kResultBytes = 4096 };
void* result_memory(int k);
/* Records the current results: a refused call must leave them unchanged. */
void note_results(void);
/* Call this after a successful call whose results were released. It restores the pattern and expects no additional live
 * handle. */
void reset_results(void);

/* The i-th handle that is not a valid `kind`: NULL, random, of another type, released, released with its table entry
 * reused. `what` describes the handle: "NULL" comes first, and a NULL `what` ends the list. */
typedef struct BadHandle {
  const char* what;
  void* handle;
} BadHandle;

BadHandle bad_handle(HandleKind kind, size_t i);

/* Judges a call whose one wrong argument was `what` at `index`. The message must contain `text` beside the argument's
 * name. */
typedef struct Wrong {
  const char* argument;
  int32_t index;
  const char* what;
  htone_status expected;
  const char* text;
} Wrong;

void refused(Wrong wrong, htone_status actual);
/* Judges a call whose error is not recorded. */
void refused_silently(Wrong wrong, htone_status actual);
/* Judges a call that must succeed. */
void accepted(const char* what, htone_status actual);

void a_million_random_handles_are_refused(void** state);

#endif
