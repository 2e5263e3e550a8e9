#include "pair_table.h"

#include <stdlib.h>

enum { kFirstCapacity = 1024 };

static size_t place_of(const pair_table* table, int32_t left, int32_t right) {
  uint64_t hash = ((uint64_t)(uint32_t)left << 32) | (uint32_t)right;
  hash = (hash ^ (hash >> 29)) * 0x9E3779B97F4A7C15u;
  return (size_t)(hash >> 32) & (table->capacity - 1);
}

/* Returns the entry of the pair, or the free one in which it belongs. */
static pair_entry* entry_of(const pair_table* table, int32_t left, int32_t right) {
  size_t i = place_of(table, left, right);
  while (table->entries[i].left != -1 && (table->entries[i].left != left || table->entries[i].right != right)) {
    i = (i + 1) & (table->capacity - 1);
  }
  return &table->entries[i];
}

static int grow(pair_table* table) {
  pair_table larger = {.capacity = table->capacity == 0 ? kFirstCapacity : 2 * table->capacity, .count = table->count};
  larger.entries = malloc(larger.capacity * sizeof *larger.entries);
  if (larger.entries == NULL) return 0;
  for (size_t i = 0; i < larger.capacity; ++i) larger.entries[i] = (pair_entry){-1, -1, 0};
  for (size_t i = 0; i < table->capacity; ++i) {
    const pair_entry entry = table->entries[i];
    if (entry.left != -1) *entry_of(&larger, entry.left, entry.right) = entry;
  }
  free(table->entries);
  *table = larger;
  return 1;
}

int64_t* pair_table_find(const pair_table* table, int32_t left, int32_t right) {
  if (table->capacity == 0) return NULL;
  pair_entry* entry = entry_of(table, left, right);
  return entry->left == -1 ? NULL : &entry->value;
}

int64_t* pair_table_at(pair_table* table, int32_t left, int32_t right) {
  int64_t* found = pair_table_find(table, left, right);
  if (found != NULL) return found;
  if (2 * table->count >= table->capacity && !grow(table)) return NULL;
  pair_entry* entry = entry_of(table, left, right);
  *entry = (pair_entry){left, right, 0};
  ++table->count;
  return &entry->value;
}

void pair_table_free(pair_table* table) {
  free(table->entries);
  *table = (pair_table){NULL, 0, 0};
}
