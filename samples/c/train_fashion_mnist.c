/* Trains a network that recognises ten kinds of clothes, using only the installed library and zlib. The network has
 * three linear layers, or two convolutions and two linear layers. In BF16 and FP16 the matrix products read 16-bit
 * weights and activations, while the optimizer keeps FP32 masters. In FP16 the loss is also scaled, so that small
 * gradients do not underflow; common/trainer.c has the order of the calls.
 *
 * Every call of the library is wrapped in ok(), which prints the library's message on failure; the function then
 * returns false. No object is released by hand: one scope of handles owns those of the program, and a scope in each
 * step owns those of the step. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/failure.h"
#include "common/fashion_mnist.h"
#include "common/trainer.h"

static const char kSummary[] =
    "Trains a network on Fashion-MNIST with AdamW and prints its accuracy on the test images.";

enum { kTestBatch = 1000, kClasses = 10 };

typedef struct fashion_data {
  htone_batches* batches; /* of images and labels, in that order, in a new random order each epoch */
  htone_tensor* test_images;
  htone_tensor* test_labels;
} fashion_data;

static bool make_mlp(htone_device* device, htone_module** out) {
  htone_module* layers[7];
  return ok(htone_module_create_rescaling(1.0 / 255, 0, &layers[0])) && ok(htone_module_create_flatten(&layers[1])) &&
         ok(htone_module_create_linear(device, 28 * 28, 512, NULL, &layers[2])) &&
         ok(htone_module_create_relu(&layers[3])) &&
         ok(htone_module_create_linear(device, 512, 512, NULL, &layers[4])) &&
         ok(htone_module_create_relu(&layers[5])) &&
         ok(htone_module_create_linear(device, 512, kClasses, NULL, &layers[6])) &&
         ok(htone_module_create_sequential(7, layers, out));
}

/* Each max pooling halves the sides of the image: 28, 14, 7. */
static bool make_cnn(htone_device* device, htone_module** out) {
  htone_module* layers[11];
  htone_conv_options conv = HTONE_CONV_OPTIONS_INIT;
  conv.padding_h = conv.padding_w = 1;
  /* Scales to mean 0 and deviation 1, because the convolutions pad with zeros. */
  return ok(htone_module_create_rescaling(1 / (255 * 0.353), -0.286 / 0.353, &layers[0])) &&
         ok(htone_module_create_conv2d(device, 1, 32, 3, 3, &conv, &layers[1])) &&
         ok(htone_module_create_relu(&layers[2])) && ok(htone_module_create_max_pool2d(2, 2, NULL, &layers[3])) &&
         ok(htone_module_create_conv2d(device, 32, 64, 3, 3, &conv, &layers[4])) &&
         ok(htone_module_create_relu(&layers[5])) && ok(htone_module_create_max_pool2d(2, 2, NULL, &layers[6])) &&
         ok(htone_module_create_flatten(&layers[7])) &&
         ok(htone_module_create_linear(device, 64 * 7 * 7, 128, NULL, &layers[8])) &&
         ok(htone_module_create_relu(&layers[9])) &&
         ok(htone_module_create_linear(device, 128, kClasses, NULL, &layers[10])) &&
         ok(htone_module_create_sequential(11, layers, out));
}

/* Reads all four files before the first step, so that a broken file is found at once. */
static bool open_data(trainer* t, fashion_data* data, const char* directory) {
  htone_tensor* tensors[2]; /* images and labels */
  int64_t count;
  if (!fashion_mnist_load(t->device, directory, "train", &tensors[0], &tensors[1]) ||
      !fashion_mnist_load(t->device, directory, "t10k", &data->test_images, &data->test_labels) ||
      !ok(htone_tensor_numel(tensors[1], &count))) {
    return false;
  }
  if (t->options.batch > count) {
    char expected[64];
    snprintf(expected, sizeof expected, "at most %lld, the number of training images", (long long)count);
    return trainer_refuse(t, "--batch", t->options.batch, expected);
  }
  const htone_sampler_options sampling = trainer_sampling(t, count);
  return ok(htone_sampler_create(&sampling, &t->sampler)) && trainer_count_steps(t, 1) &&
         ok(htone_batches_create(t->sampler, 2, tensors, &data->batches));
}

/* The loss is FP32, also over BF16 logits. */
static bool train_step(trainer* t, fashion_data* data, double* loss_value) {
  htone_scope* temporaries;
  htone_tensor *images, *labels, *logits, *loss;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_batches_next(data->batches)) && ok(htone_batches_tensor(data->batches, 0, &images)) &&
                    ok(htone_batches_tensor(data->batches, 1, &labels)) &&
                    trainer_begin_part(t, HTONE_STEP_PART_FORWARD) &&
                    ok(htone_module_forward(t->model, images, t->policy, &logits)) &&
                    ok(htone_cross_entropy(logits, labels, NULL, &loss)) &&
                    ok(htone_tensor_item(loss, loss_value)) && ok(htone_optimizer_zero_grad(t->optimizer)) &&
                    trainer_backward(t, loss, 1) && trainer_update(t);
  return ok(htone_scope_end(temporaries)) && done;
}

static bool train(trainer* t, fashion_data* data) {
  bool done = true;
  while (done && trainer_goes_on(t)) {
    double loss;
    done = trainer_begin_step(t) && train_step(t, data, &loss) && trainer_end_step(t, loss, t->options.batch);
  }
  return done;
}

/* Counts the correct predictions for up to kTestBatch test images, beginning at `begin`. */
static bool count_right(trainer* t, const fashion_data* data, int64_t begin, double* right) {
  htone_scope* temporaries;
  htone_tensor *images, *labels, *logits, *accuracy;
  int64_t count;
  double value;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_slice(data->test_images, 0, begin, begin + kTestBatch, 1, &images)) &&
                    ok(htone_slice(data->test_labels, 0, begin, begin + kTestBatch, 1, &labels)) &&
                    ok(htone_tensor_numel(labels, &count)) &&
                    ok(htone_module_forward(t->model, images, t->policy, &logits)) &&
                    ok(htone_accuracy(logits, labels, &accuracy)) && ok(htone_tensor_item(accuracy, &value));
  if (done) *right += value * (double)count;
  return ok(htone_scope_end(temporaries)) && done;
}

/* Prints the accuracy on the test images, in the precision of the training. */
static bool evaluate(trainer* t, const fashion_data* data) {
  htone_scope* no_grad;
  int64_t count;
  double right = 0;
  if (!ok(htone_tensor_numel(data->test_labels, &count)) || !ok(htone_no_grad_begin(&no_grad))) return false;
  bool done = true;
  for (int64_t i = 0; i < count && done; i += kTestBatch) done = count_right(t, data, i, &right);
  done = ok(htone_scope_end(no_grad)) && done;
  if (done) printf("accuracy %.4f\n", right / (double)count);
  return done;
}

static bool run(trainer* t, bool cnn, const char* directory) {
  fashion_data data;
  bool finishes;
  return trainer_begin(t) && trainer_join(t) && open_data(t, &data, directory) &&
         (cnn ? make_cnn : make_mlp)(t->device, &t->model) && trainer_build(t) && trainer_open_files(t) &&
         train(t, &data) && trainer_begin_finish(t, &finishes) && (!finishes || evaluate(t, &data));
}

int main(int argc, char** argv) {
  trainer t = {.items = "images", .unit_kind = "linear"};
  int model, status;
  const char* directory;
  const flag flags[] = {
      {"--model", kFlagChoice, &model, "mlp", "mlp: three linear layers; cnn: two convolutions and two linear layers",
       .choices = "mlp|cnn"},
      {"--epochs", kFlagWhole, &t.options.epochs, "5", "passes over the training data", .low = 1, .high = 1000000},
      {"--batch", kFlagWhole, &t.options.batch, "128", "images per step", .low = 1, .high = 1000000},
      {"--data", kFlagText, &directory, FASHION_MNIST_DIRECTORY,
       .meaning = "folder of the four data files; Debian's package dataset-fashion-mnist has them"},
  };
  if (!trainer_parse(&t, kSummary, flags, sizeof flags / sizeof flags[0], argc, argv, &status)) return status;
  const bool done = run(&t, model == 1, directory);
  return trainer_end(&t, done);
}
