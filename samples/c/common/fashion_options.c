#include "fashion_options.h"

#include "fashion_mnist.h"

static bool set_model(void* options, const char* text) {
  return parse_choice(text, "mlp", "cnn", &((fashion_options*)options)->cnn);
}

static bool set_epochs(void* options, const char* text) {
  return parse_count(text, 1, 1000000, &((fashion_options*)options)->epochs);
}

static bool set_batch(void* options, const char* text) {
  return parse_count(text, 1, 1000000, &((fashion_options*)options)->batch);
}

static bool set_data(void* options, const char* text) { return parse_text(text, &((fashion_options*)options)->data); }

static const flag kFlags[] = {
    {"--model", "M", "mlp", "mlp or cnn", "mlp: three linear layers; cnn: two convolutions and two linear layers",
     set_model},
    {"--epochs", "N", "5", "a whole number from 1 to 1000000", "passes over the training data", set_epochs},
    {"--batch", "N", "128", "a whole number from 1 to 1000000", "images per step", set_batch},
    {"--data", "DIR", FASHION_MNIST_DIRECTORY, "a directory",
     "folder of the four data files; Debian's package dataset-fashion-mnist has them", set_data},
};

bool fashion_options_parse(int argc, char** argv, const char* summary, fashion_options* out, int* out_exit_status) {
  *out = (fashion_options){.cnn = false};
  const flag_table tables[] = {
      {kFlags, sizeof kFlags / sizeof kFlags[0], out}, train_options_flags(&out->train), run_options_flags(&out->run)};
  const command_line line = {summary, tables, sizeof tables / sizeof tables[0]};
  if (!flags_parse(&line, argc, argv, out_exit_status)) return false;
  *out_exit_status = kExitUsage;
  return run_options_are_consistent(&out->run);
}
