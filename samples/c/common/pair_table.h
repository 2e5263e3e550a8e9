/* A hash table from pairs of tokens to numbers. One thread. */
#ifndef SAMPLES_PAIR_TABLE_H
#define SAMPLES_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct pair_entry {
  int32_t left, right; /* -1: the entry is free */
  int64_t value;
} pair_entry;

/* An empty table is zero-initialised. */
typedef struct pair_table {
  pair_entry* entries; /* a pair is at the place that its hash names, or at the next that was free */
  size_t capacity;     /* a power of two, or 0; at most half of the entries are used */
  size_t count;
} pair_table;

/* Returns the value of a pair, or NULL if the table does not have it. */
int64_t* pair_table_find(const pair_table* table, int32_t left, int32_t right);

/* Returns the value of a pair, which is 0 if the pair is new; NULL if there is no memory for it. It is valid until the
 * next call. */
int64_t* pair_table_at(pair_table* table, int32_t left, int32_t right);

void pair_table_free(pair_table* table);

#endif
