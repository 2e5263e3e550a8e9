#define _POSIX_C_SOURCE 200809L
#include "gpt_vocabulary.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "byte_pair_training.h"
#include "checkpoints.h"
#include "failure.h"

enum { kPathCapacity = 4096 };

static bool has_pairs(const gpt_options* options) { return options->token_count > kByteTokens; }

/* The path of a file or directory, with an ending instead of slashes. */
static bool path_beside(const char* base, char* path) {
  size_t length = strlen(base);
  while (length > 1 && base[length - 1] == '/') --length;
  if (snprintf(path, kPathCapacity, "%.*s.vocab", (int)length, base) < kPathCapacity) return true;
  print_error("--vocab: a path of %zu bytes is too long", strlen(base));
  return false;
}

static bool learn(byte_pairs* pairs, const gpt_options* options, const text_file* text) {
  return byte_pairs_begin(pairs, options->token_count) && byte_pairs_train(pairs, text->bytes, text->training_size);
}

static bool read_or_learn(byte_pairs* pairs, const gpt_options* options, const text_file* text) {
  char path[kPathCapacity];
  if (options->run.resume) {
    if (!path_beside(options->run.checkpoint, path)) return false;
    if (access(path, F_OK) == 0) return byte_pairs_read(pairs, path, options->token_count);
  }
  if (options->weights_in == NULL) return learn(pairs, options, text);
  return path_beside(options->weights_in, path) && byte_pairs_read(pairs, path, options->token_count);
}

/* Makes the state that a checkpoint has of a vocabulary: [2], i64. */
static bool make_state(htone_device* device, const int64_t* mark, htone_tensor** out_tensor, htone_state_dict** out) {
  const int64_t size = 2;
  return ok(htone_tensor_create_copy(device, HTONE_I64, 1, &size, mark, out_tensor)) &&
         ok(htone_state_dict_create(out)) && ok(htone_state_dict_add(*out, "vocabulary", *out_tensor));
}

/* Reads the state of the newest checkpoint to `mark`, which stays as it is if there is none. */
static bool read_mark(htone_context* context, htone_device* device, const char* directory, int64_t* mark) {
  htone_scope* temporaries;
  htone_checkpoint* checkpoint;
  htone_state_dict* state;
  htone_tensor* tensor;
  int64_t step;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = make_state(device, mark, &tensor, &state) &&
                    ok(htone_checkpoint_create(context, directory, &checkpoint)) &&
                    checkpoints_add_data(checkpoint, state) && ok(htone_checkpoint_load(checkpoint, &step)) &&
                    ok(htone_tensor_read(tensor, HTONE_I64, mark, 2 * sizeof *mark));
  return ok(htone_scope_end(temporaries)) && done;
}

/* The loading of the whole checkpoint would find the misfit as well, but could not tell that the file is its cause. */
static bool fits_checkpoint(htone_context* context, htone_device* device, const gpt_options* options,
                            const int64_t* mark) {
  char path[kPathCapacity];
  int64_t saved[] = {mark[0], mark[1]};
  if (!options->run.resume) return true;
  if (!path_beside(options->run.checkpoint, path) || !read_mark(context, device, options->run.checkpoint, saved)) {
    return false;
  }
  if (saved[0] == mark[0] && saved[1] == mark[1]) return true;
  print_error("%s: does not fit the checkpoint, which has another vocabulary, of %lld tokens", path,
              (long long)saved[0]);
  return false;
}

bool gpt_vocabulary_open(byte_pairs* pairs, const gpt_options* options, const text_file* text) {
  *pairs = (byte_pairs){.tokens = NULL};
  return has_pairs(options) ? read_or_learn(pairs, options, text) : byte_pairs_begin(pairs, kByteTokens);
}

bool gpt_vocabulary_state(const byte_pairs* pairs, const gpt_options* options, htone_context* context,
                          htone_device* device, bool compares, htone_state_dict** out) {
  htone_tensor* tensor;
  *out = NULL;
  if (!has_pairs(options)) return true;
  const int64_t mark[] = {pairs->count, (int64_t)byte_pairs_checksum(pairs)};
  return (!compares || fits_checkpoint(context, device, options, mark)) && make_state(device, mark, &tensor, out);
}

bool gpt_vocabulary_keep(const byte_pairs* pairs, const gpt_options* options) {
  char path[kPathCapacity];
  if (!has_pairs(options) || options->run.checkpoint == NULL) return true;
  if (!path_beside(options->run.checkpoint, path)) return false;
  const bool was_read = options->run.resume && access(path, F_OK) == 0;
  return was_read || byte_pairs_write(pairs, path);
}

bool gpt_vocabulary_export(const byte_pairs* pairs, const gpt_options* options) {
  char path[kPathCapacity];
  if (!has_pairs(options) || options->weights_out == NULL) return true;
  return path_beside(options->weights_out, path) && byte_pairs_write(pairs, path);
}
