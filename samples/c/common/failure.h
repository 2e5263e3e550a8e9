/* How the samples say what went wrong: one line on standard error, never an exit, so that callers release what they
 * hold. One thread.
 */
#ifndef SAMPLES_FAILURE_H
#define SAMPLES_FAILURE_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Answers whether a call of the library succeeded, and prints the library's message where it did not. */
bool ok(htone_status status);

/* Prints "error: " and the message, as printf forms it, as one line. */
void print_error(const char* format, ...);

#endif
