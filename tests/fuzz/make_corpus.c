/* Writes the committed corpus again after a change of a format: make_corpus tests/fuzz/corpus. Add useful inputs of a
 * long run by hand. */
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

/* Once without the checksum at the end, which the target computes, and once unchanged. */
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

/* The first byte of each line is an index into kCalls of api_calls_fuzz.c; the call defines the bytes after it. */
static void write_calls(const char* folder) {
  static const char train[] = {15, 0, 4, 2, 1,  0, 0,       /* linear */
                               17, 1, 1, 0, 0,  0,          /* AdamW */
                               48, 0, 0, 0,                 /* a scaler */
                               16, 2, 0, 0, 5,              /* forward */
                               3,  0, 5, 0, 0,  0, 0, 0, 4, /* sum */
                               49, 0, 0, 4, 3,              /* scale */
                               13, 3, 0, 0,                 /* backward */
                               49, 2, 0, 0, 49, 3, 0};      /* step, update */
  static const char views[] = {6, 5, 2, 4, 0, 1, 5, 0, 1, 2, 3, 4, 3, 2, 24, 0, 2, 0, 0, 3, 25, 0, 2, 3, 3, 0, 4, 0, 1};
  static const char convolve[] = {8, 0, 0, 1, (char)0xff, 1, 5, 11, 1, 2, 1, 8, 0, 0, 1, 2, 1, 4, 13, 4, 1, 4, 0};
  static const char convolve_measured[] = {8, 0, 0, 0, (char)0xff, 1};
  static const char save[] = {15, 0, 4,  2, 1, 0,  0, 55, 1, 0, 0,  56, 1, 0, 0,  57, 1, 0,  1, 57, 0, 1,
                              0,  1, 60, 3, 0, 61, 0, 0,  0, 0, 62, 0,  0, 3, 62, 2,  0, 62, 4, 0,  3};
  static const char own_function[] = {35, 4, 2, 0, 11, 2, 2, 1, 39, 2, 2, 2, 0, 36, 0,
                                      13, 2, 2, 2, 0,  0, 0, 5, 13, 5, 1, 2, 0, 40, 0};
  static const char batches[] = {58, 0, 1, 4, 2, 0, 1, 1, 0, 58, 1, 0, 1, 1, 0, 59, 0, 0, 59, 1, 0, 0, 5, 59, 2, 0, 4};
  static const char classes[] = {0, (char)0x88, 1, 4, 1,  5, 22, 5, 1, 5, 1, 0, 0, 2, 0, 4, 27, 3,
                                 1, 5,          2, 4, 23, 2, 0,  0, 0, 5, 9, 0, 0, 4, 0, 1, 5};
  static const char layers[] = {37, 1, 0,  38, 0, 0, 0, 0,  32, 0, 1, 15, 0,  4, 4, 0, 0, 2,  33, 2, 2,  1, 3,
                                19, 1, 16, 2,  3, 0, 5, 20, 44, 1, 3, 0,  50, 1, 3, 0, 0, 51, 0,  0, 51, 1, 0};
  static const char activated[] = {11, 2, 2, 1, 11, 1,          2, 1,            /* leaves */
                                   66, 1, 5, 2, 1,  (char)0xff, 5,               /* a layer over GELU */
                                   3,  0, 5, 0, 0,  0,          0, 0, 4, 13, 4}; /* sum, backward */
  static const char attend[] = {11, 0, 2, 1, 67, 0, 0, 0, (char)0xff, 1, 1, 2,  0,
                                3,  5, 3, 0, 5,  0, 0, 0, 0,          0, 4, 13, 4};
  write_file(folder, "api_calls/train", "", train, sizeof train);
  write_file(folder, "api_calls/views", "", views, sizeof views);
  write_file(folder, "api_calls/convolve", "", convolve, sizeof convolve);
  write_file(folder, "api_calls/convolve_measured", "", convolve_measured, sizeof convolve_measured);
  write_file(folder, "api_calls/save", "", save, sizeof save);
  write_file(folder, "api_calls/own_function", "", own_function, sizeof own_function);
  write_file(folder, "api_calls/batches", "", batches, sizeof batches);
  write_file(folder, "api_calls/classes", "", classes, sizeof classes);
  write_file(folder, "api_calls/layers", "", layers, sizeof layers);
  write_file(folder, "api_calls/activated", "", activated, sizeof activated);
  write_file(folder, "api_calls/attend", "", attend, sizeof attend);
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
