#include "byte_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "failure.h"

bool byte_pairs_begin(byte_pairs* pairs, int64_t capacity) {
  *pairs = (byte_pairs){.capacity = capacity};
  pairs->tokens = malloc((size_t)capacity * sizeof *pairs->tokens);
  if (pairs->tokens == NULL) {
    print_error("a vocabulary of %lld tokens needs more memory than there is", (long long)capacity);
    return false;
  }
  for (int i = 0; i < kByteTokens; ++i) {
    pairs->tokens[i] = (byte_token){.left = -1, .right = -1, .size = 1, .bytes = {(unsigned char)i}};
  }
  pairs->count = kByteTokens;
  return true;
}

void byte_pairs_free(byte_pairs* pairs) {
  free(pairs->tokens);
  pair_table_free(&pairs->joined);
  *pairs = (byte_pairs){.tokens = NULL};
}

bool byte_pairs_can_join(const byte_pairs* pairs, int32_t left, int32_t right) {
  return pairs->tokens[left].size + pairs->tokens[right].size <= kWordCapacity &&
         pair_table_find(&pairs->joined, left, right) == NULL;
}

bool byte_pairs_join(byte_pairs* pairs, int32_t left, int32_t right) {
  const byte_token *a = &pairs->tokens[left], *b = &pairs->tokens[right];
  byte_token* made = &pairs->tokens[pairs->count];
  int64_t* token = pair_table_at(&pairs->joined, left, right);
  if (token == NULL) {
    print_error("a vocabulary of %lld tokens needs more memory than there is", (long long)pairs->capacity);
    return false;
  }
  *token = pairs->count++;
  *made = (byte_token){.left = left, .right = right, .size = a->size + b->size};
  memcpy(made->bytes, a->bytes, a->size);
  memcpy(made->bytes + a->size, b->bytes, b->size);
  return true;
}

/* Returns the token that joins the first of the pairs that was added, and its place; 0 if no neighbours are a pair. */
static int32_t first_pair(const byte_pairs* pairs, const int32_t* tokens, size_t count, size_t* out_place) {
  int32_t first = 0;
  for (size_t i = 0; i + 1 < count; ++i) {
    const int64_t* joined = pair_table_find(&pairs->joined, tokens[i], tokens[i + 1]);
    if (joined == NULL || (first != 0 && *joined >= first)) continue;
    first = (int32_t)*joined;
    *out_place = i;
  }
  return first;
}

static size_t encode_word(const byte_pairs* pairs, const unsigned char* word, size_t length, int32_t* out) {
  size_t count = length, place = 0;
  int32_t joined;
  for (size_t i = 0; i < length; ++i) out[i] = word[i];
  while ((joined = first_pair(pairs, out, count, &place)) != 0) {
    out[place] = joined;
    --count;
    memmove(out + place + 1, out + place + 2, (count - place - 1) * sizeof *out);
  }
  return count;
}

size_t byte_pairs_encode(const byte_pairs* pairs, const unsigned char* text, size_t size, int32_t* out) {
  size_t count = 0;
  for (size_t begin = 0; begin < size;) {
    const size_t length = word_length(text + begin, size - begin);
    count += encode_word(pairs, text + begin, length, out + count);
    begin += length;
  }
  return count;
}

/* FNV-1a over the pairs. */
uint64_t byte_pairs_checksum(const byte_pairs* pairs) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (int64_t i = kByteTokens; i < pairs->count; ++i) {
    hash = (hash ^ (uint64_t)pairs->tokens[i].left) * 0x100000001B3u;
    hash = (hash ^ (uint64_t)pairs->tokens[i].right) * 0x100000001B3u;
  }
  return hash;
}
