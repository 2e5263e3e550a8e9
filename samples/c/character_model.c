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

enum { kContext = 48, kBatch = 24, kWidth = 64, kCharacters = 120000, kVocabulary = 28 };

static const char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz .";

/* In a callback: passes an error on. A scope of handles that is open ends with the callback. */
#define TRY(call) \
  if ((status = (call)) != HTONE_OK) return status

/* x + projection(attention(x)), then + mlp(that). The mask `user` is -infinity where a character is later, else 0. */
static htone_status block_forward(htone_module* module, const htone_forward_call* call, void* user) {
  const int64_t widths[] = {kWidth, kWidth, kWidth};
  htone_status status;
  htone_scope* temporaries;
  htone_tensor *x = call->inputs[0], *normed, *all, *qkv[3], *products, *scores, *weights, *mixed, *sum, *hidden;
  TRY(htone_handles_begin(&temporaries));
  TRY(htone_module_forward_child(module, "norm", x, &normed));
  TRY(htone_module_forward_child(module, "qkv", normed, &all));
  TRY(htone_split(all, -1, 3, widths, qkv));
  TRY(htone_einsum("bqd,bkd->bqk", qkv[0], qkv[1], &products));
  TRY(htone_mul_scalar(products, 1 / sqrt((double)kWidth), &scores));
  TRY(htone_add(scores, user, &scores));
  TRY(htone_softmax(scores, -1, &weights));
  TRY(htone_matmul(weights, qkv[2], &mixed));
  TRY(htone_module_forward_child(module, "projection", mixed, &mixed));
  TRY(htone_add(x, mixed, &sum));
  TRY(htone_module_forward_child(module, "mlp", sum, &hidden));
  TRY(htone_add(sum, hidden, call->out_tensors));
  return htone_keep(*call->out_tensors);
}

/* Characters [batch, context] to the sum of two embeddings, of the characters and of the places that are `user`. */
static htone_status embedding_forward(htone_module* module, const htone_forward_call* call, void* user) {
  htone_status status;
  htone_scope* temporaries;
  htone_tensor *embedded, *positions;
  TRY(htone_handles_begin(&temporaries));
  TRY(htone_module_forward_child(module, "characters", call->inputs[0], &embedded));
  TRY(htone_module_forward_child(module, "positions", user, &positions));
  TRY(htone_add(embedded, positions, call->out_tensors));
  return htone_keep(*call->out_tensors);
}

static bool make_block(htone_device* device, htone_tensor* mask, htone_module** out) {
  const int64_t width = kWidth;
  htone_module *norm, *qkv, *projection, *layers[4], *mlp;
  return ok(htone_module_create_layer_norm(device, 1, &width, NULL, &norm)) &&
         ok(htone_module_create_linear(device, kWidth, 3 * kWidth, NULL, &qkv)) &&
         ok(htone_module_create_linear(device, kWidth, kWidth, NULL, &projection)) &&
         ok(htone_module_create_layer_norm(device, 1, &width, NULL, &layers[0])) &&
         ok(htone_module_create_linear(device, kWidth, 4 * kWidth, NULL, &layers[1])) &&
         ok(htone_module_create_gelu(HTONE_GELU_TANH, &layers[2])) &&
         ok(htone_module_create_linear(device, 4 * kWidth, kWidth, NULL, &layers[3])) &&
         ok(htone_module_create_sequential(4, layers, &mlp)) &&
         ok(htone_module_create_custom(block_forward, mask, NULL, NULL, out)) &&
         ok(htone_module_add_child(*out, "norm", norm)) && ok(htone_module_add_child(*out, "qkv", qkv)) &&
         ok(htone_module_add_child(*out, "projection", projection)) && ok(htone_module_add_child(*out, "mlp", mlp));
}

/* Characters to logits [batch, context, vocabulary]: an embedding, the blocks, a norm and a head. */
static bool make_model(htone_device* device, htone_module** out) {
  static const char* const names[] = {"embedding", "block0", "block1", "norm", "head"};
  const int64_t square[] = {kContext, kContext}, width = kWidth;
  htone_module *characters, *positions, *parts[5];
  htone_tensor *places, *infinite, *mask;
  return ok(htone_tensor_create_full(device, HTONE_F32, 2, square, -INFINITY, &infinite)) &&
         ok(htone_triu(infinite, 1, &mask)) && ok(htone_arange(device, HTONE_I64, 0, kContext, 1, &places)) &&
         ok(htone_module_create_embedding(device, kVocabulary, kWidth, NULL, &characters)) &&
         ok(htone_module_create_embedding(device, kContext, kWidth, NULL, &positions)) &&
         ok(htone_module_create_custom(embedding_forward, places, NULL, NULL, &parts[0])) &&
         ok(htone_module_add_child(parts[0], "characters", characters)) &&
         ok(htone_module_add_child(parts[0], "positions", positions)) && make_block(device, mask, &parts[1]) &&
         make_block(device, mask, &parts[2]) &&
         ok(htone_module_create_layer_norm(device, 1, &width, NULL, &parts[3])) &&
         ok(htone_module_create_linear(device, kWidth, kVocabulary, NULL, &parts[4])) &&
         ok(htone_module_create_named_sequential(5, names, parts, out));
}

/* Sentences of random words, which a small model learns in some hundred steps, in windows with the characters after. */
static bool make_batches(htone_device* device, htone_batches** out) {
  static const char* const words[3][4] = {{"the cat ", "a small dog ", "the old king ", "every sailor "},
                                          {"saw ", "chased ", "painted ", "forgot "},
                                          {"the moon. ", "a red boat. ", "two foxes. ", "its shadow. "}};
  static uint8_t text[kCharacters];
  const int64_t count = kCharacters;
  htone_sampler_options options = HTONE_SAMPLER_OPTIONS_INIT;
  htone_sampler* sampler;
  htone_tensor* tokens;
  uint32_t series = 12345;
  for (size_t length = 0, part = 0; length < kCharacters; part = (part + 1) % 3) {
    series = series * UINT32_C(1664525) + UINT32_C(1013904223);
    for (const char* c = words[part][series >> 30]; *c != '\0' && length < kCharacters; ++c) {
      text[length++] = (uint8_t)(strchr(kAlphabet, *c) - kAlphabet);
    }
  }
  options.batch_size = kBatch;
  options.drop_last = 1; /* all steps train on as many windows */
  return ok(htone_tensor_create_copy(device, HTONE_U8, 1, &count, text, &tokens)) &&
         ok(htone_window_count(kCharacters, kContext, 1, &options.count)) &&
         ok(htone_sampler_create(&options, &sampler)) &&
         ok(htone_batches_create_windows(sampler, tokens, kContext, 1, out));
}

/* One step; without scaling where `scaler` is not enabled. */
static bool train_step(htone_module* net, htone_autocast_policy* policy, htone_batches* batches,
                       htone_optimizer* optimizer, htone_grad_scaler* scaler, double* out_loss) {
  htone_scope* temporaries;
  htone_tensor *x, *y, *logits, *by_class, *loss, *scaled;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_batches_next(batches)) && ok(htone_batches_tensor(batches, 0, &x)) &&
                    ok(htone_batches_tensor(batches, 1, &y)) && ok(htone_module_forward(net, x, policy, &logits)) &&
                    ok(htone_transpose(logits, -1, -2, &by_class)) &&
                    ok(htone_cross_entropy(by_class, y, NULL, &loss)) && ok(htone_tensor_item(loss, out_loss)) &&
                    ok(htone_optimizer_zero_grad(optimizer)) && ok(htone_grad_scaler_scale(scaler, loss, &scaled)) &&
                    ok(htone_tensor_backward(scaled, NULL, 0)) && ok(htone_grad_scaler_unscale(scaler, optimizer)) &&
                    ok(htone_optimizer_clip_grad_norm(optimizer, 1, 0)) &&
                    ok(htone_grad_scaler_step(scaler, optimizer)) && ok(htone_grad_scaler_update(scaler));
  return ok(htone_scope_end(temporaries)) && done;
}

/* Draws the next character again and again, each from the probabilities after the last kContext characters. The tensors
 * of a short text may stay until the program's scope ends. */
static bool write_sample(htone_device* device, htone_module* net, htone_autocast_policy* policy, int count) {
  int64_t text[kContext + 1] = {0};
  const int64_t shape[] = {1, kContext}, middle = 1;
  htone_scope* no_grad;
  htone_tensor *x, *logits, *last, *probabilities, *drawn;
  bool done = ok(htone_no_grad_begin(&no_grad));
  for (int i = 0; i < count && done; ++i) {
    memmove(text, text + 1, kContext * sizeof *text);
    done = ok(htone_tensor_create_copy(device, HTONE_I64, 2, shape, text, &x)) &&
           ok(htone_module_forward(net, x, policy, &logits)) && ok(htone_slice(logits, 1, -1, kContext, 1, &last)) &&
           ok(htone_softmax(last, -1, &probabilities)) && ok(htone_squeeze(probabilities, 1, &middle, &last)) &&
           ok(htone_multinomial(last, 1, 1, &drawn)) &&
           ok(htone_tensor_read(drawn, HTONE_I64, &text[kContext], sizeof *text));
    if (done) putchar(kAlphabet[text[kContext]]);
  }
  putchar('\n');
  return ok(htone_scope_end(no_grad)) && done;
}

static bool run(htone_dtype precision, int64_t steps) {
  htone_context* context;
  htone_device* device;
  htone_module* net;
  htone_batches* batches;
  htone_autocast_policy* policy;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_grad_scaler_options scaling = HTONE_GRAD_SCALER_OPTIONS_INIT;
  double loss = 0;
  int64_t updates = 0;
  adamw.lr = 3e-3;
  adamw.compute_dtype = precision;
  scaling.enabled = precision == HTONE_F16;
  bool done = ok(htone_context_create(NULL, &context)) && ok(htone_device_create(context, "cpu", &device)) &&
              make_model(device, &net) && make_batches(device, &batches) &&
              ok(htone_autocast_policy_create(precision, &policy)) &&
              ok(htone_optimizer_create(net, &adamw, &optimizer)) &&
              ok(htone_grad_scaler_create(device, &scaling, &scaler));
  for (int64_t step = 1; step <= steps && done; ++step) {
    done = train_step(net, policy, batches, optimizer, scaler, &loss);
    if (done && (step % 50 == 0 || step == steps)) printf("step %lld  loss %.4f\n", (long long)step, loss);
  }
  done = done && ok(htone_optimizer_step_count(optimizer, &updates));
  if (done) printf("%lld steps skipped\n", (long long)(steps - updates));
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
