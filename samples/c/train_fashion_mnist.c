/* Trains a network that recognises ten kinds of clothes, using only the installed library and zlib. The network has
 * three linear layers, or two convolutions and two linear layers. In BF16 and FP16 the matrix products read 16-bit
 * weights and activations, while the optimizer keeps FP32 masters. In FP16 the loss is also scaled, so that small
 * gradients do not underflow.
 *
 * Every call of the library is wrapped in ok(), which prints the library's message on failure; the function then
 * returns false. No object is released by hand: one scope of handles owns those of the program, and a scope in each
 * step owns those of the step. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/failure.h"
#include "common/fashion_mnist.h"
#include "common/fashion_model.h"
#include "common/journal.h"
#include "common/progress_bar.h"
#include "common/stop_signal.h"
#include "common/train_options.h"
#include "halftone/halftone.h"

static const char kSummary[] =
    "Trains a network on Fashion-MNIST with AdamW and prints its accuracy on the test images.";

enum { kTestBatch = 1000 };

typedef struct trainer {
  htone_scope* objects; /* owns everything that follows */
  htone_context* context;
  htone_device* device;
  htone_sampler* sampler; /* of training images, in a new random order each epoch */
  htone_batches* batches; /* of images and labels, in that order */
  htone_tensor* test_images;
  htone_tensor* test_labels;
  htone_module* model;
  htone_autocast_policy* policy;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler; /* does nothing except in FP16 */
  journal journal;
  int64_t steps_per_epoch;
  int64_t total_steps;
  int failure_status; /* exit status of the program if a function returns false */
} trainer;

static bool print_usage_error(trainer* t, const char* flag, const char* value, const char* expected) {
  print_error("%s '%s': expected %s", flag, value, expected);
  t->failure_status = kExitUsage;
  return false;
}

static bool open_device(trainer* t, const train_options* options) {
  htone_context_options context_options = HTONE_CONTEXT_OPTIONS_INIT;
  context_options.num_threads = options->threads;
  context_options.seed = options->seed;
  if (!ok(htone_context_create(&context_options, &t->context))) return false;
  const htone_status status = htone_device_create(t->context, options->device, &t->device);
  if (status == HTONE_ERROR_DEVICE || status == HTONE_ERROR_INVALID_ARGUMENT) {
    return print_usage_error(t, "--device", options->device, "a device that this machine has, such as cpu");
  }
  return ok(status);
}

static bool make_batches(trainer* t, const train_options* options, htone_tensor* images, htone_tensor* labels) {
  int64_t count;
  htone_sampler_options sampler_options = HTONE_SAMPLER_OPTIONS_INIT;
  if (!ok(htone_tensor_numel(labels, &count))) return false;
  if (options->batch > count) {
    char batch[32], expected[64];
    snprintf(batch, sizeof batch, "%lld", (long long)options->batch);
    snprintf(expected, sizeof expected, "at most %lld, the number of training images", (long long)count);
    return print_usage_error(t, "--batch", batch, expected);
  }
  sampler_options.seed = options->seed;
  sampler_options.count = count;
  sampler_options.batch_size = options->batch;
  htone_tensor* tensors[] = {images, labels};
  return ok(htone_sampler_create(&sampler_options, &t->sampler)) &&
         ok(htone_sampler_batches_per_epoch(t->sampler, &t->steps_per_epoch)) &&
         ok(htone_batches_create(t->sampler, 2, tensors, &t->batches));
}

/* Reads all four files before the first step, so that a broken file is found at once. */
static bool open_data(trainer* t, const train_options* options) {
  htone_tensor *images = NULL, *labels = NULL;
  if (!fashion_mnist_load(t->device, options->data, "train", &images, &labels) ||
      !fashion_mnist_load(t->device, options->data, "t10k", &t->test_images, &t->test_labels) ||
      !make_batches(t, options, images, labels)) {
    return false;
  }
  t->total_steps = options->epochs * t->steps_per_epoch;
  if (t->total_steps > options->steps) t->total_steps = options->steps;
  return true;
}

static bool build_optimizer(trainer* t, const train_options* options) {
  htone_adamw_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_schedule* schedule = NULL;
  adamw.compute_dtype = options->precision;
  adamw.lr = options->lr;
  return ok(options->cosine ? htone_schedule_create_cosine(t->total_steps, 0.0, &schedule)
                            : htone_schedule_create_constant(&schedule)) &&
         ok(htone_optimizer_create_adamw(t->model, &adamw, &t->optimizer)) &&
         ok(htone_optimizer_set_schedule(t->optimizer, schedule));
}

/* The loss is FP32, also over BF16 logits. */
static bool forward(trainer* t, htone_tensor* images, htone_tensor* labels, htone_tensor** out_logits,
                    htone_tensor** out_loss) {
  return ok(htone_module_forward(t->model, images, t->policy, out_logits)) &&
         ok(htone_cross_entropy(*out_logits, labels, out_loss));
}

static bool build_scaler(trainer* t, const train_options* options) {
  htone_grad_scaler_options scaler_options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  scaler_options.enabled = options->precision == HTONE_F16;
  return ok(htone_grad_scaler_create(t->device, &scaler_options, &t->scaler));
}

/* Describes the coming step. The norm is that of the unscaled gradients, and computed only for the log. */
static bool describe_step(trainer* t, train_record* record) {
  return ok(htone_optimizer_lr(t->optimizer, &record->lr)) &&
         ok(htone_grad_scaler_current_scale(t->scaler, &record->loss_scale)) &&
         (t->journal.log.file == NULL || (ok(htone_grad_scaler_unscale(t->scaler, t->optimizer)) &&
                                          ok(htone_optimizer_grad_norm(t->optimizer, &record->grad_norm))));
}

static bool step_and_update_scale(trainer* t, train_record* record) {
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  const bool done = ok(htone_grad_scaler_step(t->scaler, t->optimizer)) &&
                    ok(htone_optimizer_outcome(t->optimizer, &outcome)) && ok(htone_grad_scaler_update(t->scaler));
  record->outcome = outcome.skipped ? "skipped" : "stepped";
  return done;
}

static bool backward_and_update(trainer* t, htone_tensor* loss, train_record* record) {
  htone_tensor* scaled = NULL;
  return ok(htone_tensor_item(loss, &record->loss)) && ok(htone_grad_scaler_scale(t->scaler, loss, &scaled)) &&
         ok(htone_optimizer_zero_grad(t->optimizer)) && ok(htone_tensor_backward(scaled, NULL, 0)) &&
         describe_step(t, record) && step_and_update_scale(t, record);
}

static bool measure_accuracy(htone_tensor* logits, htone_tensor* labels, double* out) {
  htone_tensor* accuracy = NULL;
  return ok(htone_accuracy(logits, labels, &accuracy)) && ok(htone_tensor_item(accuracy, out));
}

static bool train_step(trainer* t, progress_bar* bar, train_record* record) {
  htone_scope* temporaries = NULL;
  htone_tensor *images, *labels, *logits, *loss;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  bool done = ok(htone_batches_next(t->batches)) && ok(htone_batches_tensor(t->batches, 0, &images)) &&
              ok(htone_batches_tensor(t->batches, 1, &labels)) && forward(t, images, labels, &logits, &loss) &&
              backward_and_update(t, loss, record);
  if (done && progress_bar_wants_accuracy(bar)) {
    double accuracy;
    done = measure_accuracy(logits, labels, &accuracy);
    if (done) progress_bar_take_accuracy(bar, accuracy);
  }
  return ok(htone_scope_end(temporaries)) && done;
}

static bool train(trainer* t, const train_options* options) {
  progress_bar bar;
  progress_bar_begin(&bar, t->total_steps, t->steps_per_epoch, options->batch);
  bool done = true;
  while (done && t->journal.steps_done < t->total_steps && stop_signal_received() == 0) {
    train_record record = journal_begin_step(&t->journal);
    done = train_step(t, &bar, &record);
    if (!done) break;
    const bool ends = record.step == t->total_steps || stop_signal_received() != 0;
    done = journal_end_step(&t->journal, &record, options->batch, ends);
    progress_bar_take_step(&bar, record.loss);
  }
  progress_bar_end(&bar);
  return done;
}

/* Counts the correct predictions for up to kTestBatch test images, beginning at `begin`. */
static bool count_right(trainer* t, int64_t begin, double* right) {
  htone_scope* temporaries = NULL;
  htone_tensor *images, *labels, *logits;
  int64_t count;
  double accuracy;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_slice(t->test_images, 0, begin, begin + kTestBatch, 1, &images)) &&
                    ok(htone_slice(t->test_labels, 0, begin, begin + kTestBatch, 1, &labels)) &&
                    ok(htone_tensor_numel(labels, &count)) &&
                    ok(htone_module_forward(t->model, images, t->policy, &logits)) &&
                    measure_accuracy(logits, labels, &accuracy);
  if (!ok(htone_scope_end(temporaries))) return false;
  if (done) *right += accuracy * (double)count;
  return done;
}

/* Prints the accuracy on the test images, in the precision of the training. */
static bool evaluate(trainer* t) {
  htone_scope* scope = NULL;
  int64_t count;
  double right = 0;
  if (!ok(htone_tensor_numel(t->test_labels, &count)) || !ok(htone_no_grad_begin(&scope))) return false;
  bool done = true;
  for (int64_t i = 0; i < count && done; i += kTestBatch) done = count_right(t, i, &right);
  done = ok(htone_scope_end(scope)) && done;
  if (done) printf("accuracy %.4f\n", right / (double)count);
  return done;
}

static bool announce(trainer* t, const train_options* options) {
  int32_t threads;
  if (!ok(htone_context_num_threads(t->context, &threads))) return false;
  printf("training in %s on %s, threads: %d, epochs of %lld steps, %lld steps in all\n",
         htone_dtype_name(options->precision), options->device, (int)threads, (long long)t->steps_per_epoch,
         (long long)t->total_steps);
  return true;
}

static bool open_journal(trainer* t, const train_options* options) {
  const checkpoint_parts parts = {
      .context = t->context, .model = t->model, .optimizer = t->optimizer, .scaler = t->scaler, .sampler = t->sampler};
  return journal_open(&t->journal, &options->run, &parts);
}

static bool run(trainer* t, const train_options* options) {
  return ok(htone_handles_begin(&t->objects)) && open_device(t, options) && open_data(t, options) &&
         fashion_model_create(t->device, options->cnn, &t->model) &&
         ok(htone_autocast_policy_create(options->precision, &t->policy)) && build_optimizer(t, options) &&
         build_scaler(t, options) && open_journal(t, options) && announce(t, options) && train(t, options) &&
         (t->journal.steps_done < t->total_steps || evaluate(t));
}

/* Returns whether the log was closed without an error and every object of the library is released. */
static bool release(trainer* t) {
  const bool closed = journal_close(&t->journal);
  int64_t handles;
  if (t->objects != NULL && !ok(htone_scope_end(t->objects))) return false;
  if (!ok(htone_debug_live_handles(&handles))) return false;
  if (handles != 0) print_error("%lld handles of the library are still alive", (long long)handles);
  return closed && handles == 0;
}

int main(int argc, char** argv) {
  train_options options;
  int status;
  if (!train_options_parse(argc, argv, kSummary, &options, &status)) return status;
  stop_signal_watch();
  trainer t = {.failure_status = kExitFailure};
  const bool done = run(&t, &options);
  const int signal_number = stop_signal_received();
  if (done && signal_number != 0) {
    printf("stopped by %s after step %lld of %lld\n", stop_signal_name(signal_number), (long long)t.journal.steps_done,
           (long long)t.total_steps);
  }
  if (!release(&t)) return kExitFailure;
  if (fflush(stdout) != 0 || ferror(stdout)) {
    print_error("standard output cannot be written");
    return kExitFailure;
  }
  if (!done) return t.failure_status;
  return signal_number == 0 ? kExitOk : 128 + signal_number;
}
