/* Drives the byte pairs of the samples, for byte_pairs_test.py:
 *   byte_pairs_program train N TEXT VOCABULARY     learns a vocabulary of N tokens
 *   byte_pairs_program encode N TEXT VOCABULARY    prints the tokens of a text, one in a line
 *   byte_pairs_program decode N TOKENS VOCABULARY  writes the bytes of such tokens
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/byte_pair_training.h"
#include "common/failure.h"

static unsigned char* read_file(const char* path, size_t* out_size) {
  FILE* file = fopen(path, "rb");
  unsigned char* bytes = NULL;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
    *out_size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*out_size + 1);
    if (bytes != NULL && fread(bytes, 1, *out_size, file) == *out_size) bytes[*out_size] = '\0';
  }
  if (file != NULL) fclose(file);
  return bytes;
}

static bool print_tokens(const byte_pairs* pairs, const unsigned char* text, size_t size) {
  int32_t* tokens = malloc((size + 1) * sizeof *tokens);
  if (tokens == NULL) return false;
  const size_t count = byte_pairs_encode(pairs, text, size, tokens);
  for (size_t i = 0; i < count; ++i) printf("%d\n", (int)tokens[i]);
  free(tokens);
  return true;
}

static bool print_bytes(const byte_pairs* pairs, const char* numbers) {
  char* end;
  for (const char* next = numbers; *next != '\0'; next = end + 1) {
    const byte_token* token = &pairs->tokens[strtol(next, &end, 10)];
    fwrite(token->bytes, 1, token->size, stdout);
  }
  return true;
}

static bool run(const char* command, int64_t count, const unsigned char* bytes, size_t size, const char* path,
                byte_pairs* pairs) {
  if (strcmp(command, "train") == 0) {
    return byte_pairs_begin(pairs, count) && byte_pairs_train(pairs, bytes, size) && byte_pairs_write(pairs, path);
  }
  if (!byte_pairs_read(pairs, path, count)) return false;
  return strcmp(command, "encode") == 0 ? print_tokens(pairs, bytes, size) : print_bytes(pairs, (const char*)bytes);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  byte_pairs pairs = {.tokens = NULL};
  size_t size = 0;
  unsigned char* bytes = read_file(argv[3], &size);
  const bool done = bytes != NULL && run(argv[1], strtoll(argv[2], NULL, 10), bytes, size, argv[4], &pairs);
  byte_pairs_free(&pairs);
  free(bytes);
  return done ? 0 : 1;
}
