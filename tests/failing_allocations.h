/* An operator new that fails at a chosen call, for C and C++ programs that link failing_allocations.cpp. Only calls of
 * the thread that requested the failure count. Such a program sets HALFTONE_OBJECT_POOL=0 at its start, unless it is
 * set, so that every object calls operator new and any of these calls can fail. */
#ifndef HALFTONE_TESTS_FAILING_ALLOCATIONS_H
#define HALFTONE_TESTS_FAILING_ALLOCATIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts calls from now on. The `call`-th of them, from 0, fails; with `for_ever`, so do all later ones. With a
 * negative `call` none fails. */
void fail_allocation(int64_t call, int for_ever);
/* Stops counting and failing until watch_allocations. */
void ignore_allocations(void);
void watch_allocations(void);
/* For calls of another allocator, such as a caller's: counts the call and returns whether it must fail. */
int next_allocation_fails(void);

int64_t allocations_counted(void);
int has_allocation_failed(void);
/* Blocks that all threads have allocated and not freed. */
int64_t blocks_in_use(void);
/* Calls of operator new by all threads that succeeded. */
int64_t blocks_allocated(void);

#ifdef __cplusplus
}
#endif

#endif
