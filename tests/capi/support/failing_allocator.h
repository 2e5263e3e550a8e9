/* A caller's allocator whose calls fail in the same way as operator new (tests/failing_allocations.h). */
#ifndef HALFTONE_TESTS_CAPI_FAILING_ALLOCATOR_H
#define HALFTONE_TESTS_CAPI_FAILING_ALLOCATOR_H

#include <stdint.h>

#include "failing_allocations.h"
#include "halftone/context.h"

/* `bytes` counts the bytes in use; it must outlive the context. */
htone_allocator failing_allocator(int64_t* bytes);

#endif
