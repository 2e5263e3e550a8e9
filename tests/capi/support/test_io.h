/* A table of file functions that forwards to the system's table and runs an action of the test before every call. */
#ifndef HALFTONE_TESTS_CAPI_TEST_IO_H
#define HALFTONE_TESTS_CAPI_TEST_IO_H

#include "run_tests.h"

typedef struct TestIo {
  htone_io table;
  /* Called before every call of the table. A negative result becomes the result of that call. */
  int64_t (*before)(struct TestIo* io, const char* call);
  void* of_test;
  int64_t excess; /* reads and writes report this many bytes more than they moved */
} TestIo;

/* `io` must outlive the context. */
void begin_io(TestIo* io, int64_t (*before)(TestIo* io, const char* call), void* of_test);

/* A kept context that uses the table. */
htone_context* make_io_context(TestIo* io);

#endif
