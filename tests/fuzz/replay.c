/* Runs a target on its saved inputs, in every build and with any compiler: replay FILE... */
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { kMaxInput = 1 << 20 };

/* Returns whether the file was read. */
static int replay(const char* path) {
  static uint8_t bytes[kMaxInput];
  FILE* file = fopen(path, "rb");
  if (file == NULL) return 0;
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  const int is_whole = feof(file) && !ferror(file);
  fclose(file);
  if (is_whole) LLVMFuzzerTestOneInput(bytes, size);
  return is_whole;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (replay(argv[i])) continue;
    fprintf(stderr, "%s cannot be read\n", argv[i]);
    return 1;
  }
  printf("%d inputs\n", argc - 1);
  return argc > 1 ? 0 : 1;
}
