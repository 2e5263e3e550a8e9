/* Files in memory behind an htone_io table, for inputs that must not touch a disk: a handful of small files under names
 * of any depth. Directories are not kept: every path may be one. One thread at a time.
 */
#ifndef HALFTONE_TESTS_FUZZ_MEMORY_FILES_H
#define HALFTONE_TESTS_FUZZ_MEMORY_FILES_H

#include "halftone/halftone.h"

/* Puts a copy of the bytes in the place of what the file held. */
void put_file(const char* path, const void* data, size_t size);
void remove_files(void);
/* NULL where there is no such file. */
const unsigned char* file_bytes(const char* path, size_t* out_size);

/* The CPU of a context that all inputs share: one thread, the table above, a clock that stands still, so that a save
 * writes the same each time, and small allocations. */
htone_device* memory_device(htone_context** out_context);

/* What a target does where something fails that no input can be the cause of, or where the library broke a promise. */
void require(int holds, const char* what);
/* Nothing that an input made is left. */
void require_no_handles(void);

#endif
