/* operator new that fails at a chosen call, for programs in C and C++ that link failing_allocations.cpp in its place.
 * The calls of the thread that asks for the failure count, no others.
 */
#ifndef HALFTONE_TESTS_FAILING_ALLOCATIONS_H
#define HALFTONE_TESTS_FAILING_ALLOCATIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts calls from now on; the `call`-th of them, from 0, fails, and with `for_ever` all behind it. Below 0: none. */
void fail_allocation(int64_t call, int for_ever);
/* Neither counts nor fails until watch_allocations. */
void ignore_allocations(void);
void watch_allocations(void);
/* A call of another allocator, such as a host's: counts it and answers whether it is to fail. */
int next_allocation_fails(void);

int64_t allocations_counted(void);
int has_allocation_failed(void);
/* What all threads have taken and not given back. */
int64_t blocks_in_use(void);

#ifdef __cplusplus
}
#endif

#endif
