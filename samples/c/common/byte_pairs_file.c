/* The file of a vocabulary. Each line tells all about one token, so that a reader finds damage, and people can read it:
 *   256 = 116 + 104 "th" */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "byte_pairs.h"
#include "failure.h"

static const char kExpected[] = "expected a vocabulary that this program wrote";

/* Four characters for each byte of a word, and three numbers. */
enum { kLineCapacity = 4 * kWordCapacity + 64 };

static void print_header(const byte_pairs* pairs, char* line) {
  snprintf(line, kLineCapacity, "byte pairs: %lld tokens of %lld\n", (long long)pairs->count,
           (long long)pairs->capacity);
}

/* Bytes that are not visible ASCII, and the quotation mark, are hexadecimal. */
static void print_token(const byte_pairs* pairs, int64_t token, char* line) {
  const byte_token* t = &pairs->tokens[token];
  int length = snprintf(line, kLineCapacity, "%lld = %d + %d \"", (long long)token, (int)t->left, (int)t->right);
  for (size_t i = 0; i < t->size; ++i) {
    const bool is_visible = t->bytes[i] >= ' ' && t->bytes[i] < 0x7F && t->bytes[i] != '"' && t->bytes[i] != '\\';
    length += snprintf(line + length, (size_t)(kLineCapacity - length), is_visible ? "%c" : "\\x%02X", t->bytes[i]);
  }
  snprintf(line + length, (size_t)(kLineCapacity - length), "\"\n");
}

bool byte_pairs_write(const byte_pairs* pairs, const char* path) {
  char line[kLineCapacity];
  FILE* file = fopen(path, "w");
  bool done = file != NULL;
  print_header(pairs, line);
  done = done && fputs(line, file) >= 0;
  for (int64_t i = kByteTokens; i < pairs->count && done; ++i) {
    print_token(pairs, i, line);
    done = fputs(line, file) >= 0;
  }
  if (file != NULL && fclose(file) != 0) done = false;
  if (!done) print_error("%s: cannot be written: %s", path, strerror(errno));
  return done;
}

/* Reads the token of the next line; the line must be the one that print_token writes. */
static bool read_token(byte_pairs* pairs, FILE* file, const char* path) {
  char line[kLineCapacity], written[kLineCapacity] = "";
  const int64_t token = pairs->count;
  int left, right;
  const bool is_pair = fgets(line, sizeof line, file) != NULL && sscanf(line, "%*d = %d + %d", &left, &right) == 2 &&
                       left >= 0 && left < token && right >= 0 && right < token &&
                       byte_pairs_can_join(pairs, left, right);
  if (is_pair && !byte_pairs_join(pairs, left, right)) return false;
  if (is_pair) print_token(pairs, token, written);
  if (is_pair && strcmp(line, written) == 0) return true;
  print_error("%s: line %lld is no token; %s", path, (long long)(token - kByteTokens + 2), kExpected);
  return false;
}

static bool read_tokens(byte_pairs* pairs, FILE* file, const char* path) {
  char line[kLineCapacity];
  long long count, capacity;
  if (fgets(line, sizeof line, file) == NULL ||
      sscanf(line, "byte pairs: %lld tokens of %lld\n", &count, &capacity) != 2 || count < kByteTokens ||
      count > capacity) {
    print_error("%s: line 1 is no header; %s", path, kExpected);
    return false;
  }
  if (capacity != pairs->capacity) {
    print_error("%s: was made for %lld tokens; --vocab asks for %lld", path, capacity, (long long)pairs->capacity);
    return false;
  }
  while (pairs->count < count) {
    if (!read_token(pairs, file, path)) return false;
  }
  if (fgetc(file) == EOF) return true;
  print_error("%s: has more than the %lld tokens of its header; %s", path, count, kExpected);
  return false;
}

bool byte_pairs_read(byte_pairs* pairs, const char* path, int64_t capacity) {
  *pairs = (byte_pairs){.tokens = NULL};
  FILE* file = fopen(path, "r");
  if (file == NULL) {
    print_error("%s: %s; %s", path, strerror(errno), kExpected);
    return false;
  }
  const bool done = byte_pairs_begin(pairs, capacity) && read_tokens(pairs, file, path);
  fclose(file);
  return done;
}
