/* A check of a file before it is opened. Any thread. */
#ifndef SAMPLES_REGULAR_FILE_H
#define SAMPLES_REGULAR_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether a path leads to a regular file that is not empty, and its size. If not, prints one line, which begins
 * with `flag` (may be empty) and the path and ends with `expected`. Opening a FIFO would wait for a writer. */
bool regular_file_check(const char* flag, const char* path, const char* expected, int64_t* out_size);

#endif
