/* A vocabulary of byte pairs, as GPT-2's: its first tokens are the bytes, and each further one joins two tokens before
 * it. It writes any text, and a text in as many tokens as it has bytes or fewer. The pairs of a text are learnt by
 * byte_pair_training.h. One thread. As in all samples, functions print one line and return false on failure.
 *
 * Sennrich et al., Neural Machine Translation of Rare Words with Subword Units, arXiv:1508.07909. */
#ifndef SAMPLES_BYTE_PAIRS_H
#define SAMPLES_BYTE_PAIRS_H

#include <stdbool.h>

#include "pair_table.h"
#include "words.h"

enum { kByteTokens = 256, kMostTokens = 65536 };

typedef struct byte_token {
  int32_t left, right; /* the tokens that it joins; -1 for a byte */
  size_t size;
  unsigned char bytes[kWordCapacity];
} byte_token;

typedef struct byte_pairs {
  byte_token* tokens; /* [capacity], of which `count` are there */
  int64_t count;
  int64_t capacity;
  pair_table joined; /* from a pair to the token that joins it */
} byte_pairs;

/* Begins with the bytes alone; there will be at most `capacity` tokens, which is kByteTokens to kMostTokens. Call
 * byte_pairs_free also after a failure. */
bool byte_pairs_begin(byte_pairs* pairs, int64_t capacity);
void byte_pairs_free(byte_pairs* pairs);

/* Returns whether two tokens may become one: their bytes fit a word, and they are no token yet. */
bool byte_pairs_can_join(const byte_pairs* pairs, int32_t left, int32_t right);

/* Adds the token that joins two others, which byte_pairs_can_join. */
bool byte_pairs_join(byte_pairs* pairs, int32_t left, int32_t right);

/* Writes the tokens of a text to `out`, which has room for `size` of them, and returns their number. In each word the
 * pair that was added first is joined first. */
size_t byte_pairs_encode(const byte_pairs* pairs, const unsigned char* text, size_t size, int32_t* out);

/* Returns a number that differs between vocabularies, but for chance. */
uint64_t byte_pairs_checksum(const byte_pairs* pairs);

/* The vocabulary as a text file: in each line a token, the two that it joins, and its bytes. */
bool byte_pairs_write(const byte_pairs* pairs, const char* path);

/* Reads a file of byte_pairs_write that was made for `capacity` tokens; begins *pairs. */
bool byte_pairs_read(byte_pairs* pairs, const char* path, int64_t capacity);

#endif
