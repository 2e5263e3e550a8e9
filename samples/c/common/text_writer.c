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

/* Draws a byte from logits [1, 1, vocabulary]: its temperature first, then the k most probable bytes, then the fewest
 * of them that reach top_p. */
static bool draw_byte(htone_tensor* logits, const writing_options* options, int64_t* out) {
  const bool greedy = options->temperature == 0;
  const int64_t k = greedy ? 1 : options->top_k, shape[] = {1, kByteCount};
  float most[kByteCount];
  htone_tensor *row, *values, *indices, *place;
  if (!ok(htone_slice(logits, -1, 0, kByteCount, 1, &row)) || !ok(htone_reshape(row, 2, shape, &row)) ||
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

/* Draws the byte after the `count` tokens. */
static bool next_byte(htone_module* model, htone_autocast_policy* policy, htone_device* device, const int64_t* tokens,
                      int64_t count, const writing_options* options, int64_t* out) {
  const int64_t shape[] = {1, count};
  htone_scope* temporaries;
  htone_tensor *input, *logits;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_tensor_create_copy(device, HTONE_I64, 2, shape, tokens, &input)) &&
                    ok(htone_module_forward(model, input, policy, &logits)) &&
                    ok(htone_slice(logits, 1, count - 1, count, 1, &logits)) && draw_byte(logits, options, out);
  return ok(htone_scope_end(temporaries)) && done;
}

static void print_byte(int byte) {
  const bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
  putchar(is_control ? '?' : byte);
}

bool text_writer_print(htone_module* model, htone_autocast_policy* policy, htone_device* device, int64_t context,
                       const writing_options* options) {
  htone_scope* no_grad = NULL;
  int64_t* tokens = malloc((size_t)context * sizeof *tokens);
  if (tokens == NULL) {
    print_error("%lld tokens need more memory than there is", (long long)context);
    return false;
  }
  int64_t count = 1;
  tokens[0] = '\n';
  bool done = ok(htone_no_grad_begin(&no_grad));
  for (int64_t i = 0; i < options->length && done && stop_signal_received() == 0; ++i) {
    int64_t byte = 0;
    done = next_byte(model, policy, device, tokens, count, options, &byte);
    if (!done) break;
    print_byte((int)byte);
    fflush(stdout);
    if (count == context) memmove(tokens, tokens + 1, (size_t)--count * sizeof *tokens);
    tokens[count++] = byte;
  }
  putchar('\n');
  free(tokens);
  return no_grad != NULL && ok(htone_scope_end(no_grad)) && done;
}
