/* Scopes and tensors for the tests of scopes, and questions about them. */
#ifndef TEST_SCOPES_H
#define TEST_SCOPES_H

#include "run_tests.h"

htone_scope* begin_handles(void);
/* A tensor that the test does not keep. */
htone_tensor* new_tensor(void);
int is_alive(htone_tensor* tensor);
/* Returns whether an operation on x is recorded. */
int records(htone_tensor* x);

#endif
