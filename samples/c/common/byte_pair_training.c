/* Pairs do not cross words, so each different word is kept once, with the number of its occurrences: a text of millions
 * of words has some ten thousand different ones. Counts of pairs are kept from step to step; only the words that have
 * the new token change them. */
#include "byte_pair_training.h"

#include <stdlib.h>
#include <string.h>

#include "failure.h"

/* A word of the text, as the tokens that it consists of so far. */
typedef struct counted_word {
  const unsigned char* bytes; /* in the text; NULL: the place is free */
  size_t size;
  int64_t occurrences;
  int32_t* tokens; /* [length] */
  size_t length;
} counted_word;

typedef struct trainer_of_pairs {
  counted_word* words; /* a hash table, as in pair_table.h */
  size_t capacity;
  size_t count;
  int32_t* tokens;   /* of all words */
  pair_table counts; /* occurrences of each pair of neighbours; 0 for those that became tokens */
} trainer_of_pairs;

static counted_word* place_of(const trainer_of_pairs* t, const unsigned char* bytes, size_t size) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001B3u;
  size_t place = (size_t)(hash ^ (hash >> 32)) & (t->capacity - 1);
  while (t->words[place].bytes != NULL &&
         (t->words[place].size != size || memcmp(t->words[place].bytes, bytes, size) != 0)) {
    place = (place + 1) & (t->capacity - 1);
  }
  return &t->words[place];
}

static bool grow(trainer_of_pairs* t) {
  trainer_of_pairs larger = *t;
  larger.capacity = t->capacity == 0 ? 4096 : 2 * t->capacity;
  larger.words = calloc(larger.capacity, sizeof *larger.words);
  if (larger.words == NULL) return false;
  for (size_t i = 0; i < t->capacity; ++i) {
    const counted_word* word = &t->words[i];
    if (word->bytes != NULL) *place_of(&larger, word->bytes, word->size) = *word;
  }
  free(t->words);
  *t = larger;
  return true;
}

static bool count_words(trainer_of_pairs* t, const unsigned char* text, size_t size) {
  for (size_t begin = 0; begin < size;) {
    const size_t length = word_length(text + begin, size - begin);
    if (2 * t->count >= t->capacity && !grow(t)) return false;
    counted_word* word = place_of(t, text + begin, length);
    if (word->bytes == NULL) ++t->count;
    word->bytes = text + begin;
    word->size = length;
    ++word->occurrences;
    begin += length;
  }
  return true;
}

/* Adds a word's pairs to the counts, `times` for each occurrence. */
static bool add_pairs(trainer_of_pairs* t, const counted_word* word, int64_t times) {
  for (size_t i = 0; i + 1 < word->length; ++i) {
    int64_t* count = pair_table_at(&t->counts, word->tokens[i], word->tokens[i + 1]);
    if (count == NULL) return false;
    *count += times * word->occurrences;
  }
  return true;
}

/* Makes each word the tokens of its bytes. */
static bool cut_into_bytes(trainer_of_pairs* t) {
  size_t total = 0;
  for (size_t i = 0; i < t->capacity; ++i) total += t->words[i].size;
  t->tokens = malloc((total + 1) * sizeof *t->tokens);
  if (t->tokens == NULL) return false;
  int32_t* next = t->tokens;
  for (size_t i = 0; i < t->capacity; ++i) {
    counted_word* word = &t->words[i];
    word->tokens = next;
    word->length = word->size;
    for (size_t j = 0; j < word->size; ++j) *next++ = word->bytes[j];
    if (!add_pairs(t, word, 1)) return false;
  }
  return true;
}

static bool is_better(const pair_entry* a, const pair_entry* b) {
  if (a->value != b->value) return a->value > b->value;
  return a->left != b->left ? a->left < b->left : a->right < b->right;
}

/* Returns the entry of the most frequent pair; NULL if none is there twice. */
static const pair_entry* most_frequent(const pair_table* counts) {
  const pair_entry* best = NULL;
  for (size_t i = 0; i < counts->capacity; ++i) {
    const pair_entry* entry = &counts->entries[i];
    if (entry->left != -1 && entry->value > 1 && (best == NULL || is_better(entry, best))) best = entry;
  }
  return best;
}

static bool has_pair(const counted_word* word, int32_t left, int32_t right) {
  for (size_t i = 0; i + 1 < word->length; ++i) {
    if (word->tokens[i] == left && word->tokens[i + 1] == right) return true;
  }
  return false;
}

static void join_in_word(counted_word* word, int32_t left, int32_t right, int32_t joined) {
  size_t length = 0;
  for (size_t i = 0; i < word->length; ++length) {
    const bool is_pair = i + 1 < word->length && word->tokens[i] == left && word->tokens[i + 1] == right;
    word->tokens[length] = is_pair ? joined : word->tokens[i];
    i += is_pair ? 2 : 1;
  }
  word->length = length;
}

static bool join_in_words(trainer_of_pairs* t, int32_t left, int32_t right, int32_t joined) {
  for (size_t i = 0; i < t->capacity; ++i) {
    counted_word* word = &t->words[i];
    if (!has_pair(word, left, right)) continue;
    if (!add_pairs(t, word, -1)) return false;
    join_in_word(word, left, right, joined);
    if (!add_pairs(t, word, 1)) return false;
  }
  return true;
}

static bool learn(trainer_of_pairs* t, byte_pairs* pairs, const unsigned char* text, size_t size) {
  if (!count_words(t, text, size) || !cut_into_bytes(t)) return false;
  while (pairs->count < pairs->capacity) {
    const pair_entry* best = most_frequent(&t->counts);
    if (best == NULL) break;
    const int32_t left = best->left, right = best->right, joined = (int32_t)pairs->count;
    if (!byte_pairs_join(pairs, left, right) || !join_in_words(t, left, right, joined)) return false;
  }
  return true;
}

bool byte_pairs_train(byte_pairs* pairs, const unsigned char* text, size_t size) {
  trainer_of_pairs t = {.words = NULL};
  const bool done = learn(&t, pairs, text, size);
  if (!done) print_error("the words of a text of %zu bytes need more memory than there is", size);
  free(t.words);
  free(t.tokens);
  pair_table_free(&t.counts);
  return done;
}
