/* A host's own table of files, over the system's, that does something of the test's before every call. */
#ifndef HALFTONE_TESTS_CAPI_TEST_IO_H
#define HALFTONE_TESTS_CAPI_TEST_IO_H

#include "run_tests.h"

typedef struct TestIo {
  htone_io table;
  /* Called before every call of the table. What it answers below 0 is the call's answer. */
  int64_t (*before)(struct TestIo* io, const char* call);
  void* of_test;
  int64_t excess; /* reads and writes tell of so many more bytes than they moved */
} TestIo;

/* `io` must outlive the context. */
void begin_io(TestIo* io, int64_t (*before)(TestIo* io, const char* call), void* of_test);

/* A kept context over the table. */
htone_context* make_io_context(TestIo* io);

#endif
