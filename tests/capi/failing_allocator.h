/* The host's allocator whose calls fail as those of operator new do (tests/failing_allocations.h).
 */
#ifndef HALFTONE_TESTS_CAPI_FAILING_ALLOCATOR_H
#define HALFTONE_TESTS_CAPI_FAILING_ALLOCATOR_H

#include <stdint.h>

#include "failing_allocations.h"
#include "halftone/context.h"

/* `bytes` counts what is in use; it outlives the context. */
htone_allocator failing_allocator(int64_t* bytes);

#endif
