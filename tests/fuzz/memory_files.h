/* Files in memory behind an htone_io table, for inputs that must not touch a disk: a few small files under names of any
 * depth. There are no directories: every path may be one. One thread at a time. */
#ifndef HALFTONE_TESTS_FUZZ_MEMORY_FILES_H
#define HALFTONE_TESTS_FUZZ_MEMORY_FILES_H

#include "halftone/halftone.h"

/* Replaces the content of the file by a copy of the bytes. */
void put_file(const char* path, const void* data, size_t size);
void remove_files(void);
/* NULL if there is no such file. */
const unsigned char* file_bytes(const char* path, size_t* out_size);

/* The CPU of a context that all inputs share: one thread, the table above, a constant clock, so that every save writes
 * equal bytes, and a limit on allocations. */
htone_device* memory_device(htone_context** out_context);

/* Aborts the target if something fails that no input can cause, or if the library broke a promise. */
void require(int holds, const char* what);
/* Requires that every object of an input was released. */
void require_no_handles(void);

#endif
