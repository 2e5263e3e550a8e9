/* The input is a checkpoint's index.json, next to valid tensors. If its first byte is odd, the rest gets a valid
 * checksum, so that it reaches the parser and the code after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "memory_files.h"
#include "small_run.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/* Stores `text` without its closing brace, followed by the checksum that require_checksum in impl/checkpoint/index.cpp
 * expects. */
static void put_with_checksum(const uint8_t* text, size_t size) {
  char* whole = malloc(size + 64);
  const XXH128_hash_t hash = XXH3_128bits(text, size);
  require(whole != NULL, "memory");
  if (size > 0) memcpy(whole, text, size);
  const int length = snprintf(whole + size, 64, ",\"checksum\":\"%016llx%016llx\"}", (unsigned long long)hash.high64,
                              (unsigned long long)hash.low64);
  put_file(kSmallRunIndex, whole, size + (size_t)length);
  free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SmallRun run = open_small_run();
  int64_t step = 0;
  size_t saved_size = 0;
  if (file_bytes(kSmallRunIndex, &saved_size) == NULL) {
    require(htone_checkpoint_save(run.checkpoint, 1) == HTONE_OK, "a save");
  }
  if (size > 0 && data[0] % 2 == 1) {
    put_with_checksum(data + 1, size - 1);
  } else {
    put_file(kSmallRunIndex, data, size);
  }
  htone_checkpoint_latest(run.checkpoint, &step);
  const htone_status verified = htone_checkpoint_verify(run.checkpoint, 1);
  const htone_status loaded = htone_checkpoint_load(run.checkpoint, &step);
  require(verified != HTONE_ERROR_INTERNAL && loaded != HTONE_ERROR_INTERNAL, "a status for bytes");
  require(verified == HTONE_OK || loaded != HTONE_OK, "what does not verify does not load");
  close_small_run(&run);
  require_no_handles();
  return 0;
}
