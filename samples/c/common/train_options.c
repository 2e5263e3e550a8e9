#include "train_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "fashion_mnist.h"

static bool set_model(void* options, const char* text) {
  return parse_choice(text, "mlp", "cnn", &((train_options*)options)->cnn);
}

static bool set_precision(void* options, const char* text) {
  static const struct {
    const char* name;
    htone_dtype dtype;
  } precisions[] = {{"fp32", HTONE_F32}, {"bf16", HTONE_BF16}, {"fp16", HTONE_F16}};
  for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; ++i) {
    if (strcmp(text, precisions[i].name) != 0) continue;
    ((train_options*)options)->precision = precisions[i].dtype;
    return true;
  }
  return false;
}

static bool set_device(void* options, const char* text) { return parse_text(text, &((train_options*)options)->device); }

static bool set_epochs(void* options, const char* text) {
  return parse_count(text, 1, 1000000, &((train_options*)options)->epochs);
}

static bool set_steps(void* options, const char* text) {
  return parse_count(text, 1, 1000000000, &((train_options*)options)->steps);
}

static bool set_batch(void* options, const char* text) {
  return parse_count(text, 1, 1000000, &((train_options*)options)->batch);
}

/* strtod alone would accept spaces, hexadecimal numbers, infinities and NaN. */
static bool set_lr(void* options, const char* text) {
  char* end;
  if (text[strspn(text, "0123456789.eE+-")] != '\0') return false;
  const double lr = strtod(text, &end);
  ((train_options*)options)->lr = lr;
  return end != text && *end == '\0' && isfinite(lr) && lr >= 0;
}

static bool set_schedule(void* options, const char* text) {
  return parse_choice(text, "constant", "cosine", &((train_options*)options)->cosine);
}

static bool set_seed(void* options, const char* text) {
  return parse_whole(text, 0, UINT64_MAX, &((train_options*)options)->seed);
}

static bool set_threads(void* options, const char* text) {
  int64_t threads;
  if (!parse_count(text, 0, 256, &threads)) return false;
  ((train_options*)options)->threads = (int32_t)threads;
  return true;
}

static bool set_data(void* options, const char* text) { return parse_text(text, &((train_options*)options)->data); }

static const flag kFlags[] = {
    {"--model", "M", "mlp", "mlp or cnn", "mlp: three linear layers; cnn: two convolutions and two linear layers",
     set_model},
    {"--precision", "P", "bf16", "fp32, bf16 or fp16", "dtype of weights and activations in matrix products",
     set_precision},
    {"--device", "NAME", "cpu", "the name of a device", "where to train", set_device},
    {"--epochs", "N", "5", "a whole number from 1 to 1000000", "passes over the training data", set_epochs},
    {"--steps", "N", NULL, "a whole number from 1 to 1000000000", "stop after this number of steps", set_steps},
    {"--batch", "N", "128", "a whole number from 1 to 1000000", "images per step", set_batch},
    {"--lr", "X", "1e-3", "a finite number of at least 0", "initial learning rate", set_lr},
    {"--schedule", "S", "cosine", "cosine or constant", "course of the learning rate; cosine ends at 0", set_schedule},
    {"--seed", "N", "0", "a whole number from 0 to 18446744073709551615",
     "seed of the initial weights and of the image order", set_seed},
    {"--threads", "N", "0", "a whole number from 0 to 256", "threads that compute; 0: as many as the machine allows",
     set_threads},
    {"--data", "DIR", FASHION_MNIST_DIRECTORY, "a directory",
     "folder of the four data files; Debian's package dataset-fashion-mnist has them", set_data},
};

bool train_options_parse(int argc, char** argv, const char* summary, train_options* out, int* out_exit_status) {
  *out = (train_options){.steps = INT64_MAX};
  const flag_table tables[] = {{kFlags, sizeof kFlags / sizeof kFlags[0], out}, run_options_flags(&out->run)};
  const command_line line = {summary, tables, sizeof tables / sizeof tables[0]};
  if (!flags_parse(&line, argc, argv, out_exit_status)) return false;
  *out_exit_status = kExitUsage;
  return run_options_are_consistent(&out->run);
}
