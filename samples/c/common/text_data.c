#include "text_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

/* More batches would change the validation loss little. */
enum { kValidationBatches = 100 };

/* The caller frees *out, also after a failure. */
static bool read_text(const char* path, unsigned char** out, int64_t* out_size) {
  FILE* file = fopen(path, "rb");
  /* A directory can be opened, but not read. */
  bool done = file != NULL && (fgetc(file) != EOF || !ferror(file)) && fseek(file, 0, SEEK_END) == 0;
  *out_size = done ? ftell(file) : -1;
  done = *out_size >= 0 && fseek(file, 0, SEEK_SET) == 0;
  *out = done ? malloc((size_t)*out_size + 1) : NULL;
  done = *out != NULL && fread(*out, 1, (size_t)*out_size, file) == (size_t)*out_size;
  if (!done) print_error("--text %s: %s; samples/data/make_text writes " TEXT_FILE, path, strerror(errno));
  if (file != NULL) fclose(file);
  return done;
}

/* Makes a token of each byte. The tensor owns the array. */
static bool make_tokens(htone_device* device, const unsigned char* bytes, int64_t count, htone_tensor** out) {
  int32_t* tokens = malloc(((size_t)count + 1) * sizeof *tokens);
  if (tokens == NULL) {
    print_error("%lld tokens need more memory than there is", (long long)count);
    return false;
  }
  for (int64_t i = 0; i < count; ++i) tokens[i] = bytes[i];
  const bool done = ok(htone_tensor_from_buffer(device, HTONE_I32, 1, &count, tokens, free, tokens, out));
  if (!done) free(tokens);
  return done;
}

/* Training needs a whole batch of windows, and validation one window. */
static bool check_sizes(trainer* t, int64_t context, int64_t training, int64_t held_out) {
  char expected[96];
  const int64_t windows = (training - 1) / context;
  if (held_out <= context) {
    snprintf(expected, sizeof expected, "at most %lld, since the held-out text has %lld bytes",
             (long long)(held_out > 1 ? held_out - 1 : 0), (long long)held_out);
    return trainer_refuse(t, "--context", context, expected);
  }
  if (t->options.batch <= windows) return true;
  snprintf(expected, sizeof expected, "at most %lld, the number of windows of training text", (long long)windows);
  return trainer_refuse(t, "--batch", t->options.batch, expected);
}

bool text_data_batch(trainer* t, htone_tensor* text, int64_t context, htone_batches** out) {
  int64_t size, count;
  if (!ok(htone_tensor_numel(text, &size)) || !ok(htone_window_count(size, context, context, &count))) return false;
  const htone_sampler_options sampling = trainer_sampling(t, count);
  return ok(htone_sampler_create(&sampling, &t->sampler)) &&
         ok(htone_batches_create_windows(t->sampler, text, context, context, out));
}

/* Validation takes all windows in order. Only the first process measures it. */
static bool batch_held_out(trainer* t, htone_tensor* text, int64_t context, text_data* out) {
  int64_t size;
  htone_sampler* sampler;
  htone_sampler_options sampling = HTONE_SAMPLER_OPTIONS_INIT;
  sampling.batch_size = t->options.batch;
  sampling.shuffle = sampling.drop_last = 0;
  if (!ok(htone_tensor_numel(text, &size)) || !ok(htone_window_count(size, context, context, &sampling.count)) ||
      !ok(htone_sampler_create(&sampling, &sampler)) ||
      !ok(htone_sampler_batches_per_epoch(sampler, &out->validation_batches))) {
    return false;
  }
  if (out->validation_batches > kValidationBatches) out->validation_batches = kValidationBatches;
  return ok(htone_batches_create_windows(sampler, text, context, context, &out->validation));
}

bool text_data_open(trainer* t, const char* path, int64_t context, text_data* out) {
  unsigned char* bytes;
  int64_t size;
  htone_tensor *training, *validation;
  bool done = read_text(path, &bytes, &size);
  const int64_t held_out = size / 10;
  out->training_tokens = size - held_out;
  done = done && check_sizes(t, context, out->training_tokens, held_out) &&
         make_tokens(t->device, bytes, out->training_tokens, &training) &&
         make_tokens(t->device, bytes + out->training_tokens, held_out, &validation) &&
         text_data_batch(t, training, context, &out->training) && batch_held_out(t, validation, context, out);
  free(bytes);
  return done;
}
