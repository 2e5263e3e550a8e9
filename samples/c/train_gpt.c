/* Trains a GPT on the bytes of a text and lets it write some, using only the installed library. Training can be stopped
 * and resumed; the weights can be written and read in the layout of GPT-2's published files. Precision, losses and
 * scopes of handles are as in train_fashion_mnist.c. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "common/gpt_weights.h"
#include "common/text_data.h"

static const char kSummary[] =
    "Trains a GPT on a text with AdamW, prints its loss on the last tenth of the text, and lets it write.";

/* The learning rate climbs during the first twentieth of the steps: the first moments of AdamW are noise. */
enum { kWarmupShare = 20 };

typedef struct gpt_options {
  int preset; /* fills those of the five sizes that no flag sets */
  int64_t vocabulary, context, layers, width, heads;
  const char* text;
  int64_t accumulate; /* batches per step */
  int recompute;      /* an index of kRecomputedKinds */
  int64_t generate;   /* bytes to write */
  int64_t top_k;      /* 0: all tokens */
  double temperature, top_p;
  const char* weights_in;  /* NULL: random initial weights */
  const char* weights_out; /* NULL: none */
} gpt_options;

/* Modules whose forward runs again in backward. Selective recomputation is that of the attention alone, as Megatron's.
 */
static const char* const kRecomputedKinds[] = {NULL, "transformer_block", "multihead_attention"};

/* Makes the model, of GPT-2's architecture, which is the library's default, and what trains it. */
static bool build(trainer* t, const gpt_options* options) {
  const char* kind = kRecomputedKinds[options->recompute];
  htone_transformer_options transformer = HTONE_TRANSFORMER_OPTIONS_INIT;
  size_t count;
  transformer.vocabulary = options->vocabulary;
  transformer.positions = options->context;
  transformer.layers = options->layers;
  transformer.width = options->width;
  transformer.heads = options->heads;
  if (!trainer_count_steps(t, options->accumulate)) return false;
  t->warmup_steps = t->total_steps / kWarmupShare;
  return ok(htone_module_create_transformer(t->device, &transformer, &t->model)) &&
         (kind == NULL || ok(htone_module_set_recompute_matching(t->model, NULL, kind, 1, &count))) &&
         (options->weights_in == NULL || gpt_weights_read(t->model, t->device, options->weights_in)) &&
         trainer_build(t);
}

/* The mean loss of the current batch, in FP32, over rows of logits [batch * time, vocabulary]. */
static bool batch_loss(trainer* t, htone_batches* batches, int64_t vocabulary, htone_tensor** out) {
  const int64_t rows[] = {-1, vocabulary};
  htone_tensor *tokens, *targets, *logits;
  return ok(htone_batches_tensor(batches, 0, &tokens)) && ok(htone_batches_tensor(batches, 1, &targets)) &&
         ok(htone_module_forward(t->model, tokens, t->policy, &logits)) &&
         ok(htone_reshape(logits, 2, rows, &logits)) && ok(htone_reshape(targets, 1, rows, &targets)) &&
         ok(htone_cross_entropy(logits, targets, NULL, out));
}

/* Adds the gradients of one batch, which is a share of the step's, and its share of the loss. */
static bool train_batch(trainer* t, text_data* data, const gpt_options* options, double* loss_sum) {
  const double share = 1.0 / (double)options->accumulate;
  htone_scope* temporaries;
  htone_tensor* loss;
  double value;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = trainer_begin_part(t, HTONE_STEP_PART_DATA) && ok(htone_batches_next(data->training)) &&
                    trainer_begin_part(t, HTONE_STEP_PART_FORWARD) &&
                    batch_loss(t, data->training, options->vocabulary, &loss) && ok(htone_tensor_item(loss, &value)) &&
                    trainer_backward(t, loss, share);
  if (done) *loss_sum += share * value;
  return ok(htone_scope_end(temporaries)) && done;
}

static bool train_step(trainer* t, text_data* data, const gpt_options* options, double* loss) {
  htone_scope* no_sync = NULL;
  bool done = ok(htone_optimizer_zero_grad(t->optimizer));
  if (options->accumulate > 1) done = done && ranks_accumulate_begin(&t->ranks, &no_sync);
  for (int64_t i = 1; i < options->accumulate && done; ++i) done = train_batch(t, data, options, loss);
  if (no_sync != NULL && !ok(htone_scope_end(no_sync))) return false;
  return done && train_batch(t, data, options, loss) && trainer_update(t);
}

/* Trains for two steps on the device "meta", which computes nothing and counts the memory that the CPU would need. The
 * first step makes the optimizer's state. */
static bool plan_steps(trainer* planned, const trainer* real, const gpt_options* options, int64_t tokens,
                       htone_memory_stats* out) {
  text_data data;
  double loss = 0;
  htone_tensor* text;
  if (!trainer_begin(planned) || !ranks_plan(&planned->ranks, planned->device, &real->ranks) ||
      !ok(htone_tensor_create(planned->device, HTONE_I32, 1, &tokens, &text)) ||
      !text_data_batch(planned, text, options->context, &data.training) || !build(planned, options)) {
    return false;
  }
  bool done = ok(htone_device_reset_peak_memory(planned->device));
  for (int step = 0; step < 2 && done; ++step) done = train_step(planned, &data, options, &loss);
  if (!done || !ok(htone_device_memory_stats(planned->device, out))) return false;
  out->peak -= tokens * (int64_t)sizeof(int32_t); /* the text is the program's own memory */
  return true;
}

static double mebibytes(int64_t bytes) { return (double)bytes / (1 << 20); }

/* Prints the memory that a step will need in each process. */
static bool print_plan(const trainer* t, const gpt_options* options, int64_t tokens, int64_t* out_peak) {
  trainer planned = {
      .options = t->options, .precision = t->precision, .unit_kind = t->unit_kind, .max_grad_norm = t->max_grad_norm};
  gpt_options planned_options = *options;
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  const int64_t* bytes = stats.peak_by_category;
  planned.options.device = "meta";
  planned_options.weights_in = NULL;
  bool done = plan_steps(&planned, t, &planned_options, tokens, &stats);
  if (planned.objects != NULL) done = ok(htone_scope_end(planned.objects)) && done;
  *out_peak = stats.peak;
  if (done) {
    printf("memory planned for a step: %.2f MiB; weights %.2f, gradients %.2f, optimizer %.2f, activations %.2f\n",
           mebibytes(stats.peak), mebibytes(bytes[HTONE_MEMORY_PARAMETERS]), mebibytes(bytes[HTONE_MEMORY_GRADIENTS]),
           mebibytes(bytes[HTONE_MEMORY_OPTIMIZER]), mebibytes(bytes[HTONE_MEMORY_ACTIVATIONS]));
  }
  return done;
}

static bool print_use(const trainer* t, int64_t planned_peak) {
  htone_memory_stats used = HTONE_MEMORY_STATS_INIT;
  if (!ok(htone_device_memory_stats(t->device, &used))) return false;
  printf("memory used by the steps: %.2f MiB, %.1f %% of the plan\n", mebibytes(used.peak),
         100.0 * (double)used.peak / (double)planned_peak);
  return true;
}

static bool train(trainer* t, text_data* data, const gpt_options* options) {
  const int64_t tokens = options->accumulate * t->options.batch * options->context;
  const bool is_planned = strcmp(t->options.device, "cpu") == 0;
  int64_t planned_peak = 0;
  double seconds = 0;
  if ((is_planned && !print_plan(t, options, data->training_tokens, &planned_peak)) ||
      !ok(htone_device_reset_peak_memory(t->device))) {
    return false;
  }
  bool done = true;
  while (done && trainer_goes_on(t)) {
    double loss = 0;
    const double begin = seconds_now();
    done = trainer_begin_step(t) && train_step(t, data, options, &loss);
    seconds += seconds_now() - begin; /* without the time for log and checkpoint */
    done = done && trainer_end_step(t, loss, tokens);
  }
  const int64_t steps = t->steps_done - t->first_step;
  if (!done || steps == 0) return done;
  printf("%.0f tokens/s\n", (double)(steps * tokens) / seconds);
  return !is_planned || print_use(t, planned_peak);
}

/* Adds up the loss over the tokens of the next batch; the last one may have fewer windows than the others. */
static bool add_validation_loss(trainer* t, text_data* data, const gpt_options* options, double* sum, int64_t* count) {
  htone_scope* temporaries;
  htone_tensor *loss, *targets;
  double value;
  int64_t tokens;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_batches_next(data->validation)) &&
                    batch_loss(t, data->validation, options->vocabulary, &loss) && ok(htone_tensor_item(loss, &value)) &&
                    ok(htone_batches_tensor(data->validation, 1, &targets)) && ok(htone_tensor_numel(targets, &tokens));
  if (done) {
    *sum += value * (double)tokens;
    *count += tokens;
  }
  return ok(htone_scope_end(temporaries)) && done;
}

static bool evaluate(trainer* t, text_data* data, const gpt_options* options) {
  htone_scope* no_grad;
  double sum = 0;
  int64_t count = 0;
  if (!ok(htone_no_grad_begin(&no_grad))) return false;
  bool done = true;
  for (int64_t i = 0; i < data->validation_batches && done; ++i) {
    done = add_validation_loss(t, data, options, &sum, &count);
  }
  done = ok(htone_scope_end(no_grad)) && done;
  if (done) printf("validation loss %.6f\n", sum / (double)count);
  return done;
}

/* Bytes of the text that would act on a terminal, and tokens that are no bytes, appear as '?'. */
static void print_bytes(const int64_t* tokens, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const bool is_control = (tokens[i] < 0x20 && tokens[i] != '\n' && tokens[i] != '\t') || tokens[i] == 0x7F;
    putchar(is_control || tokens[i] > 0xFF ? '?' : (int)tokens[i]);
  }
  putchar('\n');
}

/* Prints text that begins after a line's end. It depends on the weights and the seed alone. */
static bool write_text(trainer* t, const gpt_options* options) {
  const int64_t shape[] = {1, 1}, newline = '\n', count = 1 + options->generate;
  htone_generate_options writing = HTONE_GENERATE_OPTIONS_INIT;
  htone_tensor *begin, *text;
  htone_scope* autocast;
  if (options->generate == 0) return true;
  writing.new_tokens = options->generate;
  writing.context = options->context;
  writing.top_k = options->top_k;
  writing.top_p = options->top_p;
  writing.temperature = options->temperature;
  writing.seed = (uint64_t)t->options.seed;
  int64_t* tokens = malloc((size_t)count * sizeof *tokens);
  bool done = tokens != NULL && ok(htone_autocast_begin(t->policy, &autocast));
  if (done) {
    done = ok(htone_tensor_create_copy(t->device, HTONE_I64, 2, shape, &newline, &begin)) &&
           ok(htone_module_set_training(t->model, 0)) && ok(htone_module_generate(t->model, begin, &writing, &text)) &&
           ok(htone_tensor_read(text, HTONE_I64, tokens, (size_t)count * sizeof *tokens));
    done = ok(htone_scope_end(autocast)) && done;
  }
  if (done) {
    puts("text:");
    print_bytes(tokens + 1, options->generate);
  }
  free(tokens);
  return done;
}

static bool run(trainer* t, const gpt_options* options) {
  text_data data;
  bool finishes;
  if (!trainer_begin(t) || !trainer_join(t) || !text_data_open(t, options->text, options->context, &data) ||
      !build(t, options) || !trainer_open_files(t) || !train(t, &data, options) ||
      !trainer_begin_finish(t, &finishes)) {
    return false;
  }
  return !finishes ||
         (evaluate(t, &data, options) &&
          (options->weights_out == NULL || gpt_weights_write(t->model, t->context, options->weights_out)) &&
          write_text(t, options));
}

static void fill_from_preset(gpt_options* o) {
  static const gpt_options presets[] = {
      {.vocabulary = 256, .context = 64, .layers = 2, .width = 64, .heads = 4},
      {.vocabulary = 256, .context = 128, .layers = 4, .width = 192, .heads = 6},
      {.vocabulary = 50257, .context = 1024, .layers = 12, .width = 768, .heads = 12},
  };
  const gpt_options* preset = &presets[o->preset];
  if (o->vocabulary == 0) o->vocabulary = preset->vocabulary;
  if (o->context == 0) o->context = preset->context;
  if (o->layers == 0) o->layers = preset->layers;
  if (o->width == 0) o->width = preset->width;
  if (o->heads == 0) o->heads = preset->heads;
}

int main(int argc, char** argv) {
  trainer t = {.items = "tokens", .unit_kind = "transformer_block", .max_grad_norm = 1};
  gpt_options o = {.text = NULL};
  int status;
  const flag flags[] = {
      {"--text", kFlagText, &o.text, TEXT_FILE,
       .meaning = "the text; its last tenth is held out. samples/data/make_text writes the default"},
      {"--preset", kFlagChoice, &o.preset, "tiny",
       "sizes of the model: tiny trains in a minute, gpt2 has 124 million weights", .choices = "tiny|small|gpt2"},
      {"--layers", kFlagWhole, &o.layers, NULL, "transformer blocks, instead of the preset's", .low = 1, .high = 4096},
      {"--width", kFlagWhole, &o.width, NULL, "features of a position, instead of the preset's", .low = 1,
       .high = 1 << 20},
      {"--heads", kFlagWhole, &o.heads, NULL, "attention heads, instead of the preset's", .low = 1, .high = 1 << 20},
      {"--context", kFlagWhole, &o.context, NULL, "bytes that the model sees, instead of the preset's", .low = 1,
       .high = 1 << 20},
      {"--vocabulary", kFlagWhole, &o.vocabulary, NULL,
       "tokens of the model, instead of the preset's; the text uses the first 256", .low = 256, .high = 1 << 24},
      {"--epochs", kFlagWhole, &t.options.epochs, "1", "passes over the training text", .low = 1, .high = 1000000},
      {"--batch", kFlagWhole, &t.options.batch, "16", "windows of text per batch", .low = 1, .high = 1000000},
      {"--accumulate", kFlagWhole, &o.accumulate, "1", "batches per step, whose gradients are added", .low = 1,
       .high = 1000000},
      {"--recompute", kFlagChoice, &o.recompute, "none",
       "less memory for more time: computes whole blocks, or their attention, again in backward",
       .choices = "none|full|selective"},
      {"--generate", kFlagWhole, &o.generate, "200", "bytes of text to write at the end", .low = 0, .high = 1000000000},
      {"--temperature", kFlagNumber, &o.temperature, "0.8",
       "divides the logits of the written text; 0: always the most probable byte", .low = 0, .high = INT64_MAX},
      {"--top-k", kFlagWhole, &o.top_k, "0", "draw from this number of the most probable bytes; 0: all", .low = 0,
       .high = 1 << 24},
      {"--top-p", kFlagNumber, &o.top_p, "1", "draw from the most probable bytes that reach this", .low = 0, .high = 1},
      {"--import", kFlagText, &o.weights_in, .meaning = "begin with weights in GPT-2's safetensors layout"},
      {"--export", kFlagText, &o.weights_out, .meaning = "write the weights in GPT-2's safetensors layout at the end"},
  };
  if (!trainer_parse(&t, kSummary, flags, sizeof flags / sizeof flags[0], argc, argv, &status)) return status;
  fill_from_preset(&o);
  const bool done = run(&t, &o);
  return trainer_end(&t, done);
}
