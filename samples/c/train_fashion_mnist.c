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
#include "common/fashion_options.h"
#include "common/progress_bar.h"
#include "common/stop_signal.h"
#include "common/trainer.h"

static const char kSummary[] =
    "Trains a network on Fashion-MNIST with AdamW and prints its accuracy on the test images.";

enum { kTestBatch = 1000 };

typedef struct fashion_data {
  htone_batches* batches; /* of images and labels, in that order, in a new random order each epoch */
  htone_tensor* test_images;
  htone_tensor* test_labels;
} fashion_data;

static bool make_batches(trainer* t, fashion_data* data, const fashion_options* options, htone_tensor* images,
                         htone_tensor* labels) {
  int64_t count;
  htone_sampler_options sampler_options = trainer_sampling(t, &options->train);
  if (!ok(htone_tensor_numel(labels, &count))) return false;
  if (options->batch > count) {
    char expected[64];
    snprintf(expected, sizeof expected, "at most %lld, the number of training images", (long long)count);
    return trainer_refuse_count(t, "--batch", options->batch, expected);
  }
  sampler_options.count = count;
  sampler_options.batch_size = options->batch / t->ranks.size;
  htone_tensor* tensors[] = {images, labels};
  return ok(htone_sampler_create(&sampler_options, &t->sampler)) &&
         trainer_count_steps(t, &options->train, options->epochs, 1) &&
         ok(htone_batches_create(t->sampler, 2, tensors, &data->batches));
}

/* Reads all four files before the first step, so that a broken file is found at once. */
static bool open_data(trainer* t, fashion_data* data, const fashion_options* options) {
  htone_tensor *images = NULL, *labels = NULL;
  return fashion_mnist_load(t->device, options->data, "train", &images, &labels) &&
         fashion_mnist_load(t->device, options->data, "t10k", &data->test_images, &data->test_labels) &&
         make_batches(t, data, options, images, labels);
}

/* The loss is FP32, also over BF16 logits. */
static bool forward(trainer* t, htone_tensor* images, htone_tensor* labels, htone_tensor** out_logits,
                    htone_tensor** out_loss) {
  return ok(htone_module_forward(t->model, images, t->policy, out_logits)) &&
         ok(htone_cross_entropy(*out_logits, labels, NULL, out_loss));
}

static bool measure_accuracy(htone_tensor* logits, htone_tensor* labels, double* out) {
  htone_tensor* accuracy = NULL;
  return ok(htone_accuracy(logits, labels, &accuracy)) && ok(htone_tensor_item(accuracy, out));
}

static bool train_step(trainer* t, fashion_data* data, progress_bar* bar, train_record* record) {
  htone_scope* temporaries = NULL;
  htone_tensor *images, *labels, *logits, *loss;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  bool done = ok(htone_batches_next(data->batches)) && ok(htone_batches_tensor(data->batches, 0, &images)) &&
              ok(htone_batches_tensor(data->batches, 1, &labels)) && forward(t, images, labels, &logits, &loss) &&
              ok(htone_tensor_item(loss, &record->loss)) && ok(htone_optimizer_zero_grad(t->optimizer)) &&
              trainer_backward(t, loss, 1) && trainer_update(t, record);
  if (done && progress_bar_wants_accuracy(bar)) {
    double accuracy;
    done = measure_accuracy(logits, labels, &accuracy);
    if (done) progress_bar_take_accuracy(bar, accuracy);
  }
  return ok(htone_scope_end(temporaries)) && done;
}

static bool train(trainer* t, fashion_data* data, const fashion_options* options) {
  progress_bar bar;
  progress_bar_begin(&bar, t->total_steps, t->steps_per_epoch, options->batch, "images");
  bool done = true;
  while (done && trainer_goes_on(t)) {
    train_record record = journal_begin_step(&t->journal);
    done = train_step(t, data, &bar, &record) && trainer_end_step(t, &record, options->batch);
    if (done) progress_bar_take_step(&bar, record.loss);
  }
  progress_bar_end(&bar);
  return done;
}

/* Counts the correct predictions for up to kTestBatch test images, beginning at `begin`. */
static bool count_right(trainer* t, const fashion_data* data, int64_t begin, double* right) {
  htone_scope* temporaries = NULL;
  htone_tensor *images, *labels, *logits;
  int64_t count;
  double accuracy;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_slice(data->test_images, 0, begin, begin + kTestBatch, 1, &images)) &&
                    ok(htone_slice(data->test_labels, 0, begin, begin + kTestBatch, 1, &labels)) &&
                    ok(htone_tensor_numel(labels, &count)) &&
                    ok(htone_module_forward(t->model, images, t->policy, &logits)) &&
                    measure_accuracy(logits, labels, &accuracy);
  if (!ok(htone_scope_end(temporaries))) return false;
  if (done) *right += accuracy * (double)count;
  return done;
}

/* Prints the accuracy on the test images, in the precision of the training. */
static bool evaluate(trainer* t, const fashion_data* data) {
  htone_scope* scope = NULL;
  int64_t count;
  double right = 0;
  if (!ok(htone_tensor_numel(data->test_labels, &count)) || !ok(htone_no_grad_begin(&scope))) return false;
  bool done = true;
  for (int64_t i = 0; i < count && done; i += kTestBatch) done = count_right(t, data, i, &right);
  done = ok(htone_scope_end(scope)) && done;
  if (done) printf("accuracy %.4f\n", right / (double)count);
  return done;
}

static bool build_model(trainer* t, bool cnn) {
  htone_scope* described;
  return ranks_describe_begin(&t->ranks, &described) && fashion_model_create(t->device, cnn, &t->model) &&
         (described == NULL || ok(htone_scope_end(described)));
}

static bool run(trainer* t, const fashion_options* options) {
  fashion_data data;
  bool finishes;
  t->unit_kind = "linear";
  return trainer_begin(t, &options->train) && trainer_join_ranks(t, &options->train, options->batch) &&
         open_data(t, &data, options) && build_model(t, options->cnn) &&
         trainer_build(t, &options->train, &options->run) && train(t, &data, options) &&
         trainer_begin_finish(t, &finishes) && (!finishes || evaluate(t, &data));
}

int main(int argc, char** argv) {
  fashion_options options;
  int status;
  if (!fashion_options_parse(argc, argv, kSummary, &options, &status)) return status;
  stop_signal_watch();
  trainer t = {.objects = NULL};
  const bool done = run(&t, &options);
  return trainer_end(&t, done);
}
