#include "train_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "fashion_mnist.h"

typedef struct flag {
  const char* name;
  const char* value;   /* what stands for the value in the help; NULL: the flag takes none, and `set` is given "" */
  const char* initial; /* NULL: `set` is not called where the flag is not given */
  const char* expected;
  const char* meaning;
  bool (*set)(train_options* options, const char* text);
} flag;

/* Digits only: strtoull alone would take signs and blanks. */
static bool parse_whole(const char* text, uint64_t low, uint64_t high, uint64_t* out) {
  if (*text == '\0' || text[strspn(text, "0123456789")] != '\0') return false;
  errno = 0;
  const unsigned long long value = strtoull(text, NULL, 10);
  if (errno != 0 || value < low || value > high) return false;
  *out = value;
  return true;
}

static bool parse_count(const char* text, int64_t low, int64_t high, int64_t* out) {
  uint64_t value;
  if (!parse_whole(text, (uint64_t)low, (uint64_t)high, &value)) return false;
  *out = (int64_t)value;
  return true;
}

/* Sets `*out` where `text` is one of two words. */
static bool parse_choice(const char* text, const char* no, const char* yes, bool* out) {
  *out = strcmp(text, yes) == 0;
  return *out || strcmp(text, no) == 0;
}

static bool parse_text(const char* text, const char** out) {
  *out = text;
  return *text != '\0';
}

static bool set_model(train_options* options, const char* text) {
  return parse_choice(text, "mlp", "cnn", &options->cnn);
}

static bool set_precision(train_options* options, const char* text) {
  static const struct {
    const char* name;
    htone_dtype dtype;
  } precisions[] = {{"fp32", HTONE_F32}, {"bf16", HTONE_BF16}, {"fp16", HTONE_F16}};
  for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; ++i) {
    if (strcmp(text, precisions[i].name) != 0) continue;
    options->precision = precisions[i].dtype;
    return true;
  }
  return false;
}

static bool set_device(train_options* options, const char* text) { return parse_text(text, &options->device); }

static bool set_epochs(train_options* options, const char* text) {
  return parse_count(text, 1, 1000000, &options->epochs);
}

static bool set_steps(train_options* options, const char* text) {
  return parse_count(text, 1, 1000000000, &options->steps);
}

static bool set_batch(train_options* options, const char* text) {
  return parse_count(text, 1, 1000000, &options->batch);
}

/* strtod alone would take blanks, hexadecimals, infinities and NaN. */
static bool set_lr(train_options* options, const char* text) {
  char* end;
  if (text[strspn(text, "0123456789.eE+-")] != '\0') return false;
  options->lr = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(options->lr) && options->lr >= 0;
}

static bool set_schedule(train_options* options, const char* text) {
  return parse_choice(text, "constant", "cosine", &options->cosine);
}

static bool set_seed(train_options* options, const char* text) {
  return parse_whole(text, 0, UINT64_MAX, &options->seed);
}

static bool set_threads(train_options* options, const char* text) {
  int64_t threads;
  if (!parse_count(text, 0, 256, &threads)) return false;
  options->threads = (int32_t)threads;
  return true;
}

static bool set_data(train_options* options, const char* text) { return parse_text(text, &options->data); }

static bool set_log(train_options* options, const char* text) { return parse_text(text, &options->log); }

static bool set_checkpoint(train_options* options, const char* text) { return parse_text(text, &options->checkpoint); }

static bool set_checkpoint_every(train_options* options, const char* text) {
  return parse_count(text, 1, 1000000000, &options->checkpoint_every);
}

static bool set_resume(train_options* options, const char* text) {
  options->resume = true;
  return *text == '\0';
}

static const flag kFlags[] = {
    {"--model", "M", "mlp", "mlp or cnn", "three linear layers, or two of convolutions before two linear ones",
     set_model},
    {"--precision", "P", "bf16", "fp32, bf16 or fp16", "storage of activations and of the weights that products read",
     set_precision},
    {"--device", "NAME", "cpu", "the name of a device", "where to train", set_device},
    {"--epochs", "N", "5", "a whole number from 1 to 1000000", "passes over the training data", set_epochs},
    {"--steps", "N", NULL, "a whole number from 1 to 1000000000", "stop after so many steps", set_steps},
    {"--batch", "N", "128", "a whole number from 1 to 1000000", "images in a step", set_batch},
    {"--lr", "X", "1e-3", "a finite number of at least 0", "learning rate at the beginning", set_lr},
    {"--schedule", "S", "cosine", "cosine or constant", "how the learning rate goes on; cosine ends at 0",
     set_schedule},
    {"--seed", "N", "0", "a whole number from 0 to 18446744073709551615", "of initial weights and order of images",
     set_seed},
    {"--threads", "N", "0", "a whole number from 0 to 256", "threads that compute; 0: as many as the machine allows",
     set_threads},
    {"--data", "DIR", FASHION_MNIST_DIRECTORY, "a directory", "where the four data files are", set_data},
    {"--log", "FILE", NULL, "a file name", "write one JSON object a step to this file", set_log},
    {"--checkpoint", "DIR", NULL, "a directory", "save checkpoints there, the last one when the run ends",
     set_checkpoint},
    {"--checkpoint-every", "N", "500", "a whole number from 1 to 1000000000", "steps from one checkpoint to the next",
     set_checkpoint_every},
    {"--resume", NULL, NULL, "no value", "go on from the newest checkpoint, where there is one", set_resume},
};

enum { kFlagCount = sizeof kFlags / sizeof kFlags[0] };

static void print_help(const char* program, const char* summary) {
  printf("usage: %s [FLAG VALUE]...\n\n%s\n\n", program, summary);
  for (int i = 0; i < kFlagCount; ++i) {
    const flag* f = &kFlags[i];
    char usage[32];
    snprintf(usage, sizeof usage, "%s%s%s", f->name, f->value == NULL ? "" : " ", f->value == NULL ? "" : f->value);
    printf("  %-14s  %s\n                  %s%s%s\n", usage, f->meaning, f->expected,
           f->initial == NULL ? "" : "; default ", f->initial == NULL ? "" : f->initial);
  }
  printf("  %-14s  print this and end\n", "--help");
}

/* Finds the flag that an argument names, as "--name" or as "--name=value". */
static const flag* find_flag(const char* argument, const char** out_value) {
  const size_t length = strcspn(argument, "=");
  for (int i = 0; i < kFlagCount; ++i) {
    if (strlen(kFlags[i].name) == length && strncmp(kFlags[i].name, argument, length) == 0) {
      *out_value = argument[length] == '=' ? argument + length + 1 : NULL;
      return &kFlags[i];
    }
  }
  return NULL;
}

static void set_defaults(train_options* options) {
  *options = (train_options){.steps = INT64_MAX};
  for (int i = 0; i < kFlagCount; ++i) {
    if (kFlags[i].initial != NULL) kFlags[i].set(options, kFlags[i].initial);
  }
}

/* Takes the flag at argv[*position], moves *position to its last argument. */
static bool take_flag(int argc, char** argv, int* position, train_options* options) {
  const char* value = NULL;
  const flag* f = find_flag(argv[*position], &value);
  if (f == NULL) {
    print_error("%s: no such flag; --help tells all", argv[*position]);
    return false;
  }
  if (f->value == NULL && value == NULL) return f->set(options, "");
  if (value == NULL && *position + 1 == argc) {
    print_error("%s: has no value; expected %s", f->name, f->expected);
    return false;
  }
  if (value == NULL) value = argv[++*position];
  if (f->set(options, value)) return true;
  print_error("%s '%s': expected %s", f->name, value, f->expected);
  return false;
}

static bool is_consistent(const train_options* options) {
  if (!options->resume || options->checkpoint != NULL) return true;
  print_error("--resume: needs --checkpoint, the directory to go on from");
  return false;
}

bool train_options_parse(int argc, char** argv, const char* summary, train_options* out, int* out_exit_status) {
  set_defaults(out);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0) {
      print_help(argv[0], summary);
      *out_exit_status = kExitOk;
      return false;
    }
    if (!take_flag(argc, argv, &i, out)) {
      *out_exit_status = kExitUsage;
      return false;
    }
  }
  if (is_consistent(out)) return true;
  *out_exit_status = kExitUsage;
  return false;
}
