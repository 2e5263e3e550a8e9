#include "text_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "stop_signal.h"

/* Returns how many of the k falling probabilities are needed to reach top_p; at least 1. */
static int64_t nucleus_size(const float* probabilities, int64_t k, double top_p) {
  double sum = 0;
  int64_t count = 0;
  while (count < k && (count == 0 || sum < top_p)) sum += (double)probabilities[count++];
  return count;
}

/* Draws a token from logits [1, 1, vocabulary]: its temperature first, then the k most probable tokens, then the fewest
 * of them that reach top_p. `most` has room for k probabilities. */
static bool draw_token(htone_tensor* logits, int64_t token_count, int64_t k, const writing_options* options,
                       float* most, int64_t* out) {
  const bool greedy = options->temperature == 0;
  const int64_t shape[] = {1, token_count};
  htone_tensor *row, *values, *indices, *place;
  if (!ok(htone_slice(logits, -1, 0, token_count, 1, &row)) || !ok(htone_reshape(row, 2, shape, &row)) ||
      !ok(htone_cast(row, HTONE_F32, &row)) ||
      !ok(htone_mul_scalar(row, greedy ? 1 : 1 / options->temperature, &row)) || !ok(htone_softmax(row, -1, &row)) ||
      !ok(htone_topk(row, k, -1, 1, 1, &values, &indices)) ||
      !ok(htone_tensor_read(values, HTONE_F32, most, (size_t)k * sizeof *most))) {
    return false;
  }
  const int64_t count = nucleus_size(most, k, options->top_p);
  return ok(htone_slice(values, -1, 0, count, 1, &values)) && ok(htone_multinomial(values, 1, 1, &place)) &&
         ok(htone_gather(indices, -1, place, &indices)) && ok(htone_tensor_read(indices, HTONE_I64, out, sizeof *out));
}

/* Returns how many of the most probable tokens are drawn from. */
static int64_t candidate_count(const text_writer* writer, const writing_options* options) {
  const int64_t all = writer->pairs->count;
  if (options->temperature == 0) return 1;
  return options->top_k == 0 || options->top_k > all ? all : options->top_k;
}

/* The text so far, as much of it as the model sees. */
typedef struct text_window {
  int64_t* tokens; /* [context] */
  int64_t count;
  int64_t cached;      /* the first tokens whose keys and values the cache has */
  htone_tensor* cache; /* of context positions */
  float* most;         /* room for the probabilities that a token is drawn by */
} text_window;

/* Draws the token after those of the window. The model runs the tokens that the cache lacks. */
static bool next_token(const text_writer* writer, const text_window* window, const writing_options* options,
                       int64_t* out) {
  const int64_t count = window->count - window->cached, shape[] = {1, count};
  htone_scope* temporaries;
  htone_tensor *inputs[] = {NULL, NULL, NULL}, *logits; /* tokens, no mask, cache */
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done =
      ok(htone_tensor_create_copy(writer->device, HTONE_I64, 2, shape, window->tokens + window->cached, &inputs[0])) &&
      ok(htone_slice(window->cache, 4, 0, window->count, 1, &inputs[2])) &&
      ok(htone_module_forward_n(writer->model, 3, inputs, writer->policy, 1, &logits)) &&
      ok(htone_slice(logits, 1, count - 1, count, 1, &logits)) &&
      draw_token(logits, writer->pairs->count, candidate_count(writer, options), options, window->most, out);
  return ok(htone_scope_end(temporaries)) && done;
}

/* Adds a token. If the window is full, it slides: then every token has another position, and the cache is of no use. */
static void add_token(text_window* window, int64_t context, int64_t token) {
  window->cached = window->count;
  if (window->count == context) {
    memmove(window->tokens, window->tokens + 1, (size_t)--window->count * sizeof *window->tokens);
    window->cached = 0;
  }
  window->tokens[window->count++] = token;
}

static void print_byte(int byte) {
  const bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
  putchar(is_control ? '?' : byte);
}

/* Prints at most `limit` bytes of a token and returns their number. */
static int64_t print_token(const byte_token* token, int64_t limit) {
  const int64_t size = (int64_t)token->size < limit ? (int64_t)token->size : limit;
  for (int64_t i = 0; i < size; ++i) print_byte(token->bytes[i]);
  fflush(stdout);
  return size;
}

static bool print_text(const text_writer* writer, const writing_options* options, text_window* window) {
  add_token(window, writer->context, '\n');
  for (int64_t written = 0; written < options->length && stop_signal_received() == 0;) {
    int64_t token = 0;
    if (!next_token(writer, window, options, &token)) return false;
    written += print_token(&writer->pairs->tokens[token], options->length - written);
    add_token(window, writer->context, token);
  }
  return true;
}

bool text_writer_print(const text_writer* writer, const writing_options* options) {
  htone_scope* no_grad = NULL;
  text_window window = {.tokens = malloc((size_t)writer->context * sizeof *window.tokens),
                        .most = malloc((size_t)candidate_count(writer, options) * sizeof *window.most)};
  bool done = window.tokens != NULL && window.most != NULL;
  if (!done) print_error("%lld tokens need more memory than there is", (long long)writer->context);
  done = done && ok(htone_no_grad_begin(&no_grad)) &&
         ok(htone_transformer_cache(writer->model, 1, writer->context, writer->precision, &window.cache)) &&
         print_text(writer, options, &window);
  htone_tensor_release(window.cache);
  putchar('\n');
  free(window.tokens);
  free(window.most);
  return no_grad != NULL && ok(htone_scope_end(no_grad)) && done;
}
