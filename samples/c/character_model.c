/* Trains a small language model of characters, of two transformer blocks with one attention head each, and lets it
 * write some text. The attention is written out in operations, in the forward of a custom module:
 *
 *   character_model fp32|bf16|fp16 [steps]
 *
 * Nothing is released by hand: scopes of handles own the program's objects, the tensors of a step, and those of a
 * forward. In FP16 a gradient scaler keeps small gradients from vanishing; the loss is FP32 in every precision. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "halftone/halftone.h"

enum { kContext = 48, kBatch = 24, kWidth = 64, kBlocks = 2, kCharacters = 120000, kVocabulary = 28 };

static const char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz .";

/* In a callback: passes an error on. The scopes that are open then end with the callback. */
#define TRY(call) \
  if ((status = (call)) != HTONE_OK) return status

/* The parts of a block, owned by the program's scope. */
typedef struct block {
  htone_module *norm1, *qkv, *projection, *norm2, *mlp;
  htone_tensor* is_later; /* [context, context]: 1 above the diagonal */
} block;

typedef struct model {
  htone_module *characters, *norm, *head, *blocks[kBlocks];
  htone_parameter* positions;
  block parts[kBlocks];
} model;

/* x + projection(attention(norm1(x))), then + mlp(norm2(that)). */
static htone_status block_forward(htone_module* module, htone_tensor* x, htone_tensor** out, void* user) {
  const block* b = user;
  const int64_t widths[] = {kWidth, kWidth, kWidth};
  htone_status status;
  htone_scope* temporaries;
  htone_tensor *normed, *all, *qkv[3], *keys, *products, *scores, *masked, *weights, *mixed, *projected, *sum, *hidden;
  (void)module;
  TRY(htone_handles_begin(&temporaries));
  TRY(htone_module_forward(b->norm1, x, NULL, &normed));
  TRY(htone_module_forward(b->qkv, normed, NULL, &all));
  TRY(htone_split(all, -1, 3, widths, qkv));
  TRY(htone_transpose(qkv[1], -1, -2, &keys));
  TRY(htone_matmul(qkv[0], keys, &products));
  TRY(htone_mul_scalar(products, 1 / sqrt((double)kWidth), &scores));
  TRY(htone_masked_fill(scores, b->is_later, -INFINITY, &masked));
  TRY(htone_softmax(masked, -1, &weights));
  TRY(htone_matmul(weights, qkv[2], &mixed));
  TRY(htone_module_forward(b->projection, mixed, NULL, &projected));
  TRY(htone_add(x, projected, &sum));
  TRY(htone_module_forward(b->norm2, sum, NULL, &normed));
  TRY(htone_module_forward(b->mlp, normed, NULL, &hidden));
  TRY(htone_add(sum, hidden, out));
  TRY(htone_keep(*out));
  return htone_scope_end(temporaries);
}

/* Characters [batch, context] to logits [batch, context, vocabulary]. */
static htone_status model_forward(htone_module* module, htone_tensor* characters, htone_tensor** out, void* user) {
  const model* m = user;
  htone_status status;
  htone_scope* temporaries;
  htone_tensor *embedded, *positions, *x, *normed;
  (void)module;
  TRY(htone_handles_begin(&temporaries));
  TRY(htone_module_forward(m->characters, characters, NULL, &embedded));
  TRY(htone_parameter_tensor(m->positions, &positions));
  TRY(htone_add(embedded, positions, &x));
  for (int i = 0; i < kBlocks; ++i) TRY(htone_module_forward(m->blocks[i], x, NULL, &x));
  TRY(htone_module_forward(m->norm, x, NULL, &normed));
  TRY(htone_module_forward(m->head, normed, NULL, out));
  TRY(htone_keep(*out));
  return htone_scope_end(temporaries);
}

static bool make_block(htone_device* device, htone_tensor* is_later, block* b, htone_module** out) {
  const int64_t width = kWidth;
  htone_module* layers[3];
  b->is_later = is_later;
  return ok(htone_module_create_layer_norm(device, 1, &width, NULL, &b->norm1)) &&
         ok(htone_module_create_linear(device, kWidth, 3 * kWidth, NULL, &b->qkv)) &&
         ok(htone_module_create_linear(device, kWidth, kWidth, NULL, &b->projection)) &&
         ok(htone_module_create_layer_norm(device, 1, &width, NULL, &b->norm2)) &&
         ok(htone_module_create_linear(device, kWidth, 4 * kWidth, NULL, &layers[0])) &&
         ok(htone_module_create_gelu(HTONE_GELU_TANH, &layers[1])) &&
         ok(htone_module_create_linear(device, 4 * kWidth, kWidth, NULL, &layers[2])) &&
         ok(htone_module_create_sequential(3, layers, &b->mlp)) &&
         ok(htone_module_create_custom(block_forward, b, NULL, out)) &&
         ok(htone_module_add_child(*out, "norm1", b->norm1)) && ok(htone_module_add_child(*out, "qkv", b->qkv)) &&
         ok(htone_module_add_child(*out, "projection", b->projection)) &&
         ok(htone_module_add_child(*out, "norm2", b->norm2)) && ok(htone_module_add_child(*out, "mlp", b->mlp));
}

static bool make_model(htone_device* device, model* m, htone_module** out) {
  const int64_t square[] = {kContext, kContext}, table[] = {kContext, kWidth}, width = kWidth;
  htone_tensor *ones, *upper, *is_later, *positions;
  char name[16];
  bool done = ok(htone_tensor_create_ones(device, HTONE_F32, 2, square, &ones)) && ok(htone_triu(ones, 1, &upper)) &&
              ok(htone_cast(upper, HTONE_BOOL, &is_later)) &&
              ok(htone_module_create_embedding(device, kVocabulary, kWidth, NULL, &m->characters)) &&
              ok(htone_parameter_create_new(device, "positions", HTONE_F32, 2, table, &m->positions)) &&
              ok(htone_parameter_tensor(m->positions, &positions)) && ok(htone_init_normal(positions, 0, 0.02)) &&
              ok(htone_module_create_layer_norm(device, 1, &width, NULL, &m->norm)) &&
              ok(htone_module_create_linear(device, kWidth, kVocabulary, NULL, &m->head)) &&
              ok(htone_module_create_custom(model_forward, m, NULL, out)) &&
              ok(htone_module_add_child(*out, "characters", m->characters)) &&
              ok(htone_module_add_parameter(*out, "positions", m->positions)) &&
              ok(htone_module_add_child(*out, "norm", m->norm)) && ok(htone_module_add_child(*out, "head", m->head));
  for (int i = 0; i < kBlocks && done; ++i) {
    snprintf(name, sizeof name, "block%d", i);
    done = make_block(device, is_later, &m->parts[i], &m->blocks[i]) &&
           ok(htone_module_add_child(*out, name, m->blocks[i]));
  }
  return done;
}

/* Sentences of random words, which a small model learns in some hundred steps. */
static void write_text(uint8_t* text) {
  static const char* const words[3][4] = {{"the cat ", "a small dog ", "the old king ", "every sailor "},
                                          {"saw ", "chased ", "painted ", "forgot "},
                                          {"the moon. ", "a red boat. ", "two foxes. ", "its shadow. "}};
  uint32_t series = 12345;
  for (size_t length = 0, part = 0; length < kCharacters; part = (part + 1) % 3) {
    series = series * UINT32_C(1664525) + UINT32_C(1013904223);
    for (const char* c = words[part][series >> 30]; *c != '\0' && length < kCharacters; ++c) {
      text[length++] = (uint8_t)(strchr(kAlphabet, *c) - kAlphabet);
    }
  }
}

static bool make_batches(htone_device* device, htone_batches** out) {
  static uint8_t text[kCharacters];
  const int64_t count = kCharacters;
  htone_sampler_options options = HTONE_SAMPLER_OPTIONS_INIT;
  htone_sampler* sampler;
  htone_tensor* tokens;
  write_text(text);
  options.batch_size = kBatch;
  return ok(htone_tensor_create_copy(device, HTONE_U8, 1, &count, text, &tokens)) &&
         ok(htone_window_count(kCharacters, kContext, 1, &options.count)) &&
         ok(htone_sampler_create(&options, &sampler)) &&
         ok(htone_batches_create_windows(sampler, tokens, kContext, 1, out));
}

/* One step; without scaling where `scaler` is not enabled. */
static bool train_step(htone_module* net, htone_autocast_policy* policy, htone_batches* batches,
                       htone_optimizer* optimizer, htone_grad_scaler* scaler, double* out_loss, int* skipped) {
  const int64_t rows[] = {-1, kVocabulary}, flat = -1;
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  htone_scope* temporaries;
  htone_tensor *x, *y, *targets, *logits, *by_row, *loss, *scaled;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_batches_next(batches)) && ok(htone_batches_tensor(batches, 0, &x)) &&
                    ok(htone_batches_tensor(batches, 1, &y)) && ok(htone_module_forward(net, x, policy, &logits)) &&
                    ok(htone_reshape(logits, 2, rows, &by_row)) && ok(htone_reshape(y, 1, &flat, &targets)) &&
                    ok(htone_cross_entropy(by_row, targets, &loss)) && ok(htone_tensor_item(loss, out_loss)) &&
                    ok(htone_optimizer_zero_grad(optimizer)) && ok(htone_grad_scaler_scale(scaler, loss, &scaled)) &&
                    ok(htone_tensor_backward(scaled, NULL, 0)) && ok(htone_grad_scaler_unscale(scaler, optimizer)) &&
                    ok(htone_optimizer_clip_grad_norm(optimizer, 1, 0)) &&
                    ok(htone_grad_scaler_step(scaler, optimizer)) && ok(htone_optimizer_outcome(optimizer, &outcome)) &&
                    ok(htone_grad_scaler_update(scaler));
  *skipped += outcome.skipped;
  return ok(htone_scope_end(temporaries)) && done;
}

/* Draws the next character again and again, each from the probabilities after the last kContext characters. */
static bool write_sample(htone_device* device, htone_module* net, htone_autocast_policy* policy, int count) {
  int64_t text[kContext] = {0}, next;
  const int64_t shape[] = {1, kContext}, middle = 1;
  htone_scope *temporaries, *no_grad;
  htone_tensor *x, *logits, *last, *probabilities, *drawn;
  bool done = true;
  for (int i = 0; i < count && done; ++i) {
    if (!ok(htone_handles_begin(&temporaries)) || !ok(htone_no_grad_begin(&no_grad))) return false;
    done = ok(htone_tensor_create_copy(device, HTONE_I64, 2, shape, text, &x)) &&
           ok(htone_module_forward(net, x, policy, &logits)) && ok(htone_slice(logits, 1, -1, kContext, 1, &last)) &&
           ok(htone_softmax(last, -1, &probabilities)) && ok(htone_squeeze(probabilities, 1, &middle, &last)) &&
           ok(htone_multinomial(last, 1, 1, &drawn)) && ok(htone_tensor_read(drawn, HTONE_I64, &next, sizeof next));
    done = ok(htone_scope_end(no_grad)) && ok(htone_scope_end(temporaries)) && done;
    if (!done) return false;
    putchar(kAlphabet[next]);
    memmove(text, text + 1, (kContext - 1) * sizeof *text);
    text[kContext - 1] = next;
  }
  putchar('\n');
  return done;
}

static bool run(htone_dtype precision, int64_t steps) {
  static model m;
  htone_context* context;
  htone_device* device;
  htone_module* net;
  htone_batches* batches;
  htone_autocast_policy* policy;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  htone_adamw_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_grad_scaler_options scaling = HTONE_GRAD_SCALER_OPTIONS_INIT;
  double loss = 0;
  int skipped = 0;
  adamw.lr = 3e-3;
  adamw.compute_dtype = precision;
  scaling.enabled = precision == HTONE_F16;
  bool done = ok(htone_context_create(NULL, &context)) && ok(htone_device_create(context, "cpu", &device)) &&
              make_model(device, &m, &net) && make_batches(device, &batches) &&
              ok(htone_autocast_policy_create(precision, &policy)) &&
              ok(htone_optimizer_create_adamw(net, &adamw, &optimizer)) &&
              ok(htone_grad_scaler_create(device, &scaling, &scaler));
  for (int64_t step = 1; step <= steps && done; ++step) {
    done = train_step(net, policy, batches, optimizer, scaler, &loss, &skipped);
    if (done && (step % 50 == 0 || step == steps)) printf("step %lld  loss %.4f\n", (long long)step, loss);
  }
  if (done) printf("%d steps skipped\n", skipped);
  return done && write_sample(device, net, policy, 120);
}

int main(int argc, char** argv) {
  static const char* const names[] = {"fp32", "bf16", "fp16"};
  static const htone_dtype dtypes[] = {HTONE_F32, HTONE_BF16, HTONE_F16};
  const long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 300;
  int64_t handles = -1;
  htone_scope* program;
  int which = 0;
  while (which < 3 && argc > 1 && strcmp(argv[1], names[which]) != 0) ++which;
  if (which == 3 || argc > 3 || steps < 1) {
    fprintf(stderr, "usage: character_model fp32|bf16|fp16 [steps, at least 1]\n");
    return 2;
  }
  bool done = ok(htone_handles_begin(&program)) && run(dtypes[which], steps);
  done = ok(htone_scope_end(program)) && ok(htone_debug_live_handles(&handles)) && done;
  return done && handles == 0 ? 0 : 1;
}
