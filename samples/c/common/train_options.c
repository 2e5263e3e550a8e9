#include "train_options.h"

#include <float.h>
#include <string.h>

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

static bool set_steps(void* options, const char* text) {
  return parse_count(text, 1, 1000000000, &((train_options*)options)->steps);
}

static bool set_lr(void* options, const char* text) {
  return parse_number(text, 0, DBL_MAX, &((train_options*)options)->lr);
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

static bool set_sharding(void* options, const char* text) {
  static const struct {
    const char* name;
    sharding_kind kind;
  } kinds[] = {{"none", kShardingNone},           {"ddp", kShardingDdp},   {"optimizer", kShardingOptimizer},
               {"gradients", kShardingGradients}, {"full", kShardingFull}, {"hybrid", kShardingHybrid}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    if (strcmp(text, kinds[i].name) != 0) continue;
    ((train_options*)options)->sharding = kinds[i].kind;
    return true;
  }
  return false;
}

static bool set_offload(void* options, const char* text) {
  static const char* const kinds[] = {
      [HTONE_OFFLOAD_NONE] = "none", [HTONE_OFFLOAD_HOST] = "memory", [HTONE_OFFLOAD_FILE] = "file"};
  for (int i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); ++i) {
    if (strcmp(text, kinds[i]) != 0) continue;
    ((train_options*)options)->offload = (htone_offload)i;
    return true;
  }
  return false;
}

static bool set_offload_path(void* options, const char* text) {
  return parse_text(text, &((train_options*)options)->offload_path);
}

static const flag kFlags[] = {
    {"--precision", "P", "bf16", "fp32, bf16 or fp16", "dtype of weights and activations in matrix products",
     set_precision},
    {"--device", "NAME", "cpu", "the name of a device", "where to train", set_device},
    {"--steps", "N", NULL, "a whole number from 1 to 1000000000", "stop after this number of steps", set_steps},
    {"--lr", "X", "1e-3", "a finite number of at least 0", "initial learning rate", set_lr},
    {"--schedule", "S", "cosine", "cosine or constant", "course of the learning rate; cosine ends at 0", set_schedule},
    {"--seed", "N", "0", "a whole number from 0 to 18446744073709551615",
     "seed of the initial weights and of the order of the data", set_seed},
    {"--threads", "N", "0", "a whole number from 0 to 256", "threads that compute; 0: as many as the machine allows",
     set_threads},
    {"--sharding", "KIND", "none", "none, ddp, optimizer, gradients, full or hybrid",
     "what the processes of halftone-run share: ddp: each batch; optimizer, gradients, full: its state, gradients and "
     "weights, too; hybrid: full in pairs of processes",
     set_sharding},
    {"--offload", "PLACE", "none", "none, memory or file",
     "where the state that --sharding shares is kept while it is not used: on the device, in host memory, or in a "
     "file",
     set_offload},
    {"--offload-path", "DIR", ".", "a directory", "the place of the file of --offload", set_offload_path},
};

flag_table train_options_flags(train_options* out) {
  *out = (train_options){.steps = INT64_MAX};
  return (flag_table){kFlags, sizeof kFlags / sizeof kFlags[0], out};
}
