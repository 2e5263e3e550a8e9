/* Trains a GPT on a text, byte by byte or in tokens of several bytes, and lets it write some. It uses only the
 * installed library. Training can be stopped and resumed; the weights can be written and read in the layout of GPT-2's
 * published files. Precision, losses and scopes of handles are as in train_fashion_mnist.c. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "common/gpt_options.h"
#include "common/gpt_vocabulary.h"
#include "common/gpt_weights.h"
#include "common/memory_table.h"
#include "common/product_rate.h"
#include "common/progress_bar.h"
#include "common/stop_signal.h"
#include "common/stopwatch.h"
#include "common/text_file.h"
#include "common/trainer.h"

static const char kSummary[] =
    "Trains a GPT on a text with AdamW, prints its loss on the last tenth of the text, and lets it write.";

/* More batches would change the validation loss little. */
enum { kValidationBatches = 100 };

/* The learning rate climbs during the first twentieth of the steps: the first moments of AdamW are noise. */
enum { kWarmupShare = 20 };

typedef struct text_data {
  byte_pairs pairs; /* of its tokens */
  int64_t training_tokens;
  htone_batches* training;   /* windows that do not overlap, in a new random order each epoch */
  htone_batches* validation; /* windows of the held-out text, in order */
  int64_t validation_batches;
} text_data;

/* Makes batches of windows over a part of the text; *out_sampler is theirs. */
static bool make_windows(const trainer* t, htone_tensor* text, const gpt_options* options, bool training,
                         htone_sampler** out_sampler, htone_batches** out) {
  const int64_t context = options->shape.context;
  int64_t size;
  /* Only the first process measures on the held-out text. */
  htone_sampler_options sampling = HTONE_SAMPLER_OPTIONS_INIT;
  if (training) sampling = trainer_sampling(t, &options->train);
  sampling.batch_size = training ? options->batch / t->ranks.size : options->batch;
  sampling.shuffle = sampling.drop_last = training; /* training takes full batches, and validation all windows */
  return ok(htone_tensor_numel(text, &size)) && ok(htone_window_count(size, context, context, &sampling.count)) &&
         ok(htone_sampler_create(&sampling, out_sampler)) &&
         ok(htone_batches_create_windows(*out_sampler, text, context, context, out));
}

/* Training needs a whole batch of windows, and validation one window. */
static bool check_sizes(trainer* t, const gpt_options* options, htone_tensor* training, htone_tensor* validation) {
  const int64_t context = options->shape.context;
  int64_t size, held_out, windows;
  char expected[96];
  if (!ok(htone_tensor_numel(training, &size)) || !ok(htone_tensor_numel(validation, &held_out)) ||
      !ok(htone_window_count(size, context, context, &windows))) {
    return false;
  }
  if (windows < 1 || held_out <= context) {
    snprintf(expected, sizeof expected, "at most %lld, since the held-out text has %lld tokens",
             (long long)(held_out > 1 ? held_out - 1 : 0), (long long)held_out);
    return trainer_refuse_count(t, "--context", context, expected);
  }
  if (options->batch <= windows) return true;
  snprintf(expected, sizeof expected, "at most %lld, the number of windows of training text", (long long)windows);
  return trainer_refuse_count(t, "--batch", options->batch, expected);
}

/* Makes the tokens of both parts of the text. */
static bool open_tokens(trainer* t, text_data* data, const gpt_options* options, htone_tensor** out_training,
                        htone_tensor** out_validation) {
  text_file text;
  const byte_pairs* pairs = &data->pairs;
  bool done = text_file_read(options->text, &text);
  const size_t cut = text.training_size;
  done = done && gpt_vocabulary_open(&data->pairs, options, &text) &&
         gpt_vocabulary_state(pairs, options, t->context, t->device, t->ranks.rank == 0, &t->data) &&
         text_tokens(t->device, pairs, text.bytes, cut, out_training) &&
         text_tokens(t->device, pairs, text.bytes + cut, text.size - cut, out_validation);
  text_file_free(&text);
  return done;
}

static bool open_data(trainer* t, text_data* data, const gpt_options* options) {
  htone_tensor *training, *validation;
  htone_sampler* validation_sampler;
  if (!open_tokens(t, data, options, &training, &validation) ||
      !ok(htone_tensor_numel(training, &data->training_tokens)) || !check_sizes(t, options, training, validation) ||
      !make_windows(t, training, options, true, &t->sampler, &data->training) ||
      !make_windows(t, validation, options, false, &validation_sampler, &data->validation) ||
      !ok(htone_sampler_batches_per_epoch(validation_sampler, &data->validation_batches)) ||
      !trainer_count_steps(t, &options->train, options->epochs, options->accumulate)) {
    return false;
  }
  if (data->validation_batches > kValidationBatches) data->validation_batches = kValidationBatches;
  t->warmup_steps = t->total_steps / kWarmupShare;
  t->max_grad_norm = 1;
  return true;
}

static bool mark_for_recomputation(trainer* t, const char* kind) {
  size_t count;
  return kind == NULL || ok(htone_module_set_recompute_matching(t->model, NULL, kind, 1, &count));
}

static bool build_model(trainer* t, const gpt_options* options) {
  htone_scope* described;
  return ranks_describe_begin(&t->ranks, &described) && gpt_model_create(t->device, &options->shape, &t->model) &&
         (described == NULL || ok(htone_scope_end(described))) && mark_for_recomputation(t, options->recomputed_kind) &&
         (options->weights_in == NULL || gpt_weights_read(t->model, t->device, options->weights_in));
}

/* Makes rows of logits [batch, time, token] and of their targets. Both are views. */
static bool as_rows(htone_tensor** logits, htone_tensor** targets) {
  int64_t shape[3], rows[2] = {-1, 0};
  int32_t rank;
  if (!ok(htone_tensor_shape(*logits, shape, 3, &rank))) return false;
  rows[1] = shape[2];
  return ok(htone_reshape(*logits, 2, rows, logits)) && ok(htone_reshape(*targets, 1, rows, targets));
}

/* The mean loss of the next batch, in FP32. */
static bool next_loss(trainer* t, htone_batches* batches, htone_tensor** out) {
  htone_tensor *tokens, *targets, *logits;
  return ok(htone_batches_next(batches)) && ok(htone_batches_tensor(batches, 0, &tokens)) &&
         ok(htone_batches_tensor(batches, 1, &targets)) &&
         ok(htone_module_forward(t->model, tokens, t->policy, &logits)) && as_rows(&logits, &targets) &&
         ok(htone_cross_entropy(logits, targets, NULL, out));
}

/* Adds the gradients of one batch, which is a share of the step's, and its share of the loss. */
static bool train_batch(trainer* t, text_data* data, double share, double* loss_sum) {
  htone_scope* temporaries = NULL;
  htone_tensor* loss;
  double value;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done =
      next_loss(t, data->training, &loss) && ok(htone_tensor_item(loss, &value)) && trainer_backward(t, loss, share);
  if (done) *loss_sum += share * value;
  return ok(htone_scope_end(temporaries)) && done;
}

static bool train_step(trainer* t, text_data* data, int64_t accumulate, train_record* record) {
  const double share = 1.0 / (double)accumulate;
  htone_scope* no_sync = NULL;
  bool done = ok(htone_optimizer_zero_grad(t->optimizer));
  if (accumulate > 1) done = done && ranks_accumulate_begin(&t->ranks, &no_sync);
  for (int64_t i = 1; i < accumulate && done; ++i) done = train_batch(t, data, share, &record->loss);
  if (no_sync != NULL && !ok(htone_scope_end(no_sync))) return false;
  return done && train_batch(t, data, share, &record->loss) && trainer_update(t, record);
}

/* Trains for two steps on the device "meta", which computes nothing and counts the memory that the CPU would need. The
 * first step makes the optimizer's state. */
static bool plan_steps(trainer* t, const gpt_options* options, const ranks* real, int64_t tokens,
                       htone_memory_stats* out) {
  text_data data = {.training = NULL};
  train_record record = {.loss = 0};
  htone_tensor* text;
  t->unit_kind = "transformer_block";
  if (!trainer_begin(t, &options->train) || !ranks_plan(&t->ranks, t->device, real) ||
      !ok(htone_tensor_create(t->device, HTONE_I32, 1, &tokens, &text)) ||
      !make_windows(t, text, options, true, &t->sampler, &data.training) ||
      !trainer_count_steps(t, &options->train, options->epochs, options->accumulate) || !build_model(t, options) ||
      !trainer_share(t, &options->train) || !trainer_build_update(t, &options->train)) {
    return false;
  }
  t->max_grad_norm = 1;
  bool done = ok(htone_device_reset_peak_memory(t->device));
  for (int step = 0; step < 2 && done; ++step) done = train_step(t, &data, options->accumulate, &record);
  if (!done || !ok(htone_device_memory_stats(t->device, out))) return false;
  const int64_t text_bytes = tokens * (int64_t)sizeof(int32_t); /* the program's own, outside of the plan */
  out->peak -= text_bytes;
  out->peak_by_category[HTONE_MEMORY_OTHER] -= text_bytes;
  return true;
}

static bool plan_with(const gpt_options* options, const ranks* real, const char* recomputed_kind, int64_t tokens,
                      htone_memory_stats* out) {
  gpt_options planned = *options;
  trainer t = {.objects = NULL};
  planned.train.device = "meta";
  planned.recomputed_kind = recomputed_kind;
  planned.weights_in = NULL;
  const bool done = plan_steps(&t, &planned, real, tokens, out);
  return (t.objects == NULL || ok(htone_scope_end(t.objects))) && done;
}

/* Prints the memory that the steps will need in each process with each form of recomputation. */
static bool print_plan(const gpt_options* options, const ranks* real, int64_t tokens, int64_t* out_peak) {
  memory_table_begin("recompute");
  for (int i = 0; i < kRecomputeChoices; ++i) {
    const recompute_choice* choice = &gpt_recompute_choices[i];
    const bool is_chosen = choice->kind == options->recomputed_kind;
    htone_memory_stats planned = HTONE_MEMORY_STATS_INIT;
    if (!plan_with(options, real, choice->kind, tokens, &planned)) return false;
    memory_table_row(choice->name, is_chosen, &planned);
    if (is_chosen) *out_peak = planned.peak;
  }
  return true;
}

/* Prints the speed of the steps, and its share of what the device reaches in one large product, which is measured for a
 * short time beside that of the training. */
static bool print_speed(trainer* t, const gpt_options* options, int64_t tokens, double seconds) {
  const double rate = (double)tokens / seconds * gpt_model_flops_per_token(&options->shape) / t->ranks.size;
  const double limit = seconds < 20 ? seconds / 40 : 0.5;
  double product_rate;
  if (!product_rate_measure(t->device, options->train.precision, limit, &product_rate)) return false;
  printf("%.0f tokens/s, %.2f GFLOP/s%s: %.1f %% of the %.1f GFLOP/s of a matrix product\n", (double)tokens / seconds,
         rate * 1e-9, t->ranks.size > 1 ? " in each process" : "", 100 * rate / product_rate, product_rate * 1e-9);
  return true;
}

static bool train(trainer* t, text_data* data, const gpt_options* options) {
  const int64_t tokens = options->accumulate * options->batch * options->shape.context;
  const int64_t first = t->journal.steps_done;
  /* A plan would need the memory to which state is offloaded. */
  const bool is_planned = strcmp(options->train.device, "cpu") == 0 && options->train.offload == HTONE_OFFLOAD_NONE;
  double seconds = 0;
  int64_t planned_peak = 0;
  progress_bar bar;
  if ((is_planned && !print_plan(options, &t->ranks, data->training_tokens, &planned_peak)) ||
      !ok(htone_device_reset_peak_memory(t->device))) {
    return false;
  }
  progress_bar_begin(&bar, t->total_steps, t->steps_per_epoch, tokens, "tokens");
  bool done = true;
  while (done && trainer_goes_on(t)) {
    train_record record = journal_begin_step(&t->journal);
    const double begin = seconds_now();
    done = train_step(t, data, options->accumulate, &record);
    seconds += seconds_now() - begin; /* without the time for log and checkpoint */
    done = done && trainer_end_step(t, &record, tokens);
    if (done) progress_bar_take_step(&bar, record.loss);
  }
  progress_bar_end(&bar);
  const int64_t steps = t->journal.steps_done - first;
  if (!done || steps == 0) return done;
  return (!is_planned || memory_print_use(t->device, planned_peak)) && print_speed(t, options, steps * tokens, seconds);
}

/* The loss on held-out text, added up over tokens, and the size of the text. */
typedef struct held_out {
  double loss;
  int64_t tokens;
  int64_t bytes;
} held_out;

static bool count_text(const byte_pairs* pairs, htone_tensor* targets, int64_t* out_tokens, int64_t* out_bytes) {
  if (!ok(htone_tensor_numel(targets, out_tokens))) return false;
  int64_t* tokens = malloc((size_t)*out_tokens * sizeof *tokens);
  const bool done =
      tokens != NULL && ok(htone_tensor_read(targets, HTONE_I64, tokens, (size_t)*out_tokens * sizeof *tokens));
  *out_bytes = 0;
  for (int64_t i = 0; i < *out_tokens && done; ++i) *out_bytes += (int64_t)pairs->tokens[tokens[i]].size;
  free(tokens);
  return done;
}

/* Adds the next batch, which may have fewer windows than the others if it is the last. */
static bool add_validation_loss(trainer* t, text_data* data, held_out* sum) {
  htone_scope* temporaries = NULL;
  htone_tensor *loss, *targets;
  double value;
  int64_t tokens, bytes;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = next_loss(t, data->validation, &loss) && ok(htone_tensor_item(loss, &value)) &&
                    ok(htone_batches_tensor(data->validation, 1, &targets)) &&
                    count_text(&data->pairs, targets, &tokens, &bytes);
  if (done) *sum = (held_out){sum->loss + value * (double)tokens, sum->tokens + tokens, sum->bytes + bytes};
  return ok(htone_scope_end(temporaries)) && done;
}

/* Prints the loss on the held-out text, unless a signal stops it. Models with other tokens compare by the loss of a
 * byte. */
static bool evaluate(trainer* t, text_data* data) {
  htone_scope* no_grad = NULL;
  held_out sum = {0, 0, 0};
  bool done = ok(htone_no_grad_begin(&no_grad));
  int64_t batches = 0;
  for (; batches < data->validation_batches && done && stop_signal_received() == 0; ++batches) {
    done = add_validation_loss(t, data, &sum);
  }
  if (no_grad == NULL || !ok(htone_scope_end(no_grad)) || !done) return false;
  if (batches < data->validation_batches) return true;
  const double of_token = sum.loss / (double)sum.tokens, of_byte = sum.loss / (double)sum.bytes;
  if (t->data == NULL) {
    printf("validation loss %.6f\n", of_byte);
  } else {
    printf("validation loss %.6f per token, %.6f per byte\n", of_token, of_byte);
  }
  return true;
}

/* The text depends on the weights and the seed alone, not on the random numbers before. */
static bool write_text(trainer* t, const text_data* data, const gpt_options* options) {
  if (options->writing.length == 0 || stop_signal_received() != 0) return true;
  puts("text:");
  const text_writer writer = {.model = t->model,
                              .policy = t->policy,
                              .device = t->device,
                              .pairs = &data->pairs,
                              .context = options->shape.context,
                              .precision = options->train.precision};
  return ok(htone_context_set_seed(t->context, options->train.seed)) && text_writer_print(&writer, &options->writing);
}

static bool finish(trainer* t, text_data* data, const gpt_options* options) {
  return evaluate(t, data) &&
         (options->weights_out == NULL || gpt_weights_write(t->model, t->context, options->weights_out)) &&
         gpt_vocabulary_export(&data->pairs, options) && write_text(t, data, options);
}

/* Trains and writes, once the data is open. */
static bool run_on(trainer* t, text_data* data, const gpt_options* options) {
  bool finishes;
  t->unit_kind = "transformer_block";
  return build_model(t, options) && trainer_build(t, &options->train, &options->run) &&
         (t->ranks.rank != 0 || gpt_vocabulary_keep(&data->pairs, options)) && train(t, data, options) &&
         trainer_begin_finish(t, &finishes) && (!finishes || finish(t, data, options));
}

static bool run(trainer* t, const gpt_options* options) {
  text_data data = {.training = NULL};
  const bool done = trainer_begin(t, &options->train) && trainer_join_ranks(t, &options->train, options->batch) &&
                    (options->weights_out == NULL || gpt_weights_check_path(options->weights_out)) &&
                    open_data(t, &data, options) && run_on(t, &data, options);
  byte_pairs_free(&data.pairs);
  return done;
}

int main(int argc, char** argv) {
  gpt_options options;
  int status;
  if (!gpt_options_parse(argc, argv, kSummary, &options, &status)) return status;
  stop_signal_watch();
  trainer t = {.objects = NULL};
  const bool done = run(&t, &options);
  return trainer_end(&t, done);
}
