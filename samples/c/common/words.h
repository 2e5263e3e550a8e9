/* Cuts text into words, which the pairs of byte_pairs.h never cross. */
#ifndef SAMPLES_WORDS_H
#define SAMPLES_WORDS_H

#include <stddef.h>

/* The longest word; longer runs of one kind of byte are cut. */
enum { kWordCapacity = 64 };

/* Returns the length of the first word, as GPT-2 cuts: a run of letters, of digits or of other visible bytes, with the
 * blank before it; or a run of white space, without a blank that belongs to the next word. Bytes from 128 on count as
 * letters, so characters of UTF-8 are not cut. `size` is at least 1. */
size_t word_length(const unsigned char* text, size_t size);

#endif
