/* Writes the committed corpus anew, which is needed when a format changes: make_corpus tests/fuzz/corpus. What is worth
 * keeping from a long run is added by hand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_files.h"
#include "small_run.h"

static void write_file(const char* folder, const char* name, const char* lead, const void* data, size_t size) {
  char path[512];
  require(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path, "a path that fits");
  FILE* file = fopen(path, "wb");
  require(file != NULL, path);
  require(fwrite(lead, 1, strlen(lead), file) == strlen(lead) && fwrite(data, 1, size, file) == size, path);
  require(fclose(file) == 0, path);
}

/* Without the checksum at its end, which the target computes anew; and as it is. */
static void write_indexes(const char* folder) {
  SmallRun run = open_small_run();
  size_t size = 0;
  require(htone_checkpoint_save(run.checkpoint, 1) == HTONE_OK, "a save");
  const unsigned char* index = file_bytes(kSmallRunIndex, &size);
  const size_t checksum = strlen(",\"checksum\":\"\"}") + 32;
  require(index != NULL && size > checksum, "an index");
  write_file(folder, "checkpoint_index/without_checksum", "\1", index, size - checksum);
  write_file(folder, "checkpoint_index/whole", "", index, size);
  close_small_run(&run);
}

static void write_safetensors(const char* folder, const char* name, htone_dtype dtype, int32_t ndim) {
  static const int64_t shape[] = {2, 3, 0};
  htone_context* context = NULL;
  htone_device* device = memory_device(&context);
  htone_tensor* tensor = NULL;
  htone_state_dict* tensors = NULL;
  size_t size = 0;
  require(htone_tensor_create_full(device, dtype, ndim, shape, 1, &tensor) == HTONE_OK, "a tensor");
  require(htone_state_dict_create(&tensors) == HTONE_OK, "a state dict");
  require(htone_state_dict_add(tensors, "weight", tensor) == HTONE_OK, "a name");
  require(htone_state_dict_add(tensors, "\xc3\xa4\\\"", tensor) == HTONE_OK, "a name to be escaped");
  require(htone_safetensors_save(context, "f", tensors) == HTONE_OK, "a save");
  const unsigned char* bytes = file_bytes("f", &size);
  write_file(folder, name, "", bytes, size);
  htone_state_dict_release(tensors);
  htone_tensor_release(tensor);
}

/* Numbers are those of the table in run_call; see there for what follows each. */
static void write_calls(const char* folder) {
  static const char train[] = {15, 0, 3, 2, 17, 1, 1, 0, 11, 0,  2, 1, 16, 1,  0, 0,
                               3,  0, 1, 0, 0,  0, 0, 0, 0,  13, 0, 0, 0,  18, 3};
  static const char views[] = {6, 0, 2, 4, 0, 1, 6, 1, 2, 3, 1, 4, 3, 2, 5, 2, 2, 3, 4, 0, 1, 3, 12, 3, 1, 2, 8};
  static const char convolve[] = {0, 1, 3, 1, 2, 3, 1, 1, 8, 0, 0, 1, 5, 1, 4, 9, 0, 0, 4, 4, 1, 2, 13, 4, 0, 1};
  write_file(folder, "api_calls/train", "", train, sizeof train);
  write_file(folder, "api_calls/views", "", views, sizeof views);
  write_file(folder, "api_calls/convolve", "", convolve, sizeof convolve);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  write_indexes(argv[1]);
  write_safetensors(argv[1], "safetensors/f32", HTONE_F32, 2);
  write_safetensors(argv[1], "safetensors/bf16_scalar", HTONE_BF16, 0);
  write_safetensors(argv[1], "safetensors/i64_empty", HTONE_I64, 3);
  write_calls(argv[1]);
  require_no_handles();
  return 0;
}
