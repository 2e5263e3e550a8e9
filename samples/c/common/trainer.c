#define _POSIX_C_SOURCE 200809L
#include "trainer.h"

#include <float.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "failure.h"
#include "stop_signal.h"

enum { kLineInterval = 100 };

/* In the order of --help. A recipe of 0: linear layers multiply in the dtype. */
static const struct {
  const char* name;
  htone_dtype dtype;
  htone_recipe_kind recipe;
} kPrecisions[] = {{"fp32", HTONE_F32, 0},
                   {"bf16", HTONE_BF16, 0},
                   {"fp16", HTONE_F16, 0},
                   {"fp8-delayed", HTONE_BF16, HTONE_RECIPE_DELAYED},
                   {"fp8-current", HTONE_BF16, HTONE_RECIPE_CURRENT},
                   {"fp8-block", HTONE_BF16, HTONE_RECIPE_BLOCK},
                   {"mxfp8", HTONE_BF16, HTONE_RECIPE_MXFP8},
                   {"nvfp4", HTONE_BF16, HTONE_RECIPE_NVFP4}};

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool trainer_parse(trainer* t, const char* summary, const flag* flags, size_t flag_count, int argc, char** argv,
                   int* out_exit_status) {
  train_options* o = &t->options;
  const flag common[] = {
      {"--precision", kFlagChoice, &o->precision, "bf16",
       "of weights and activations in matrix products; fp8-delayed and the rest are recipes for linear layers, which "
       "compute all else in bf16",
       .choices = "fp32|bf16|fp16|fp8-delayed|fp8-current|fp8-block|mxfp8|nvfp4"},
      {"--device", kFlagText, &o->device, "cpu", .meaning = "where to train"},
      {"--steps", kFlagWhole, &o->steps, NULL, "stop after this number of steps", .low = 1, .high = 1000000000},
      {"--lr", kFlagNumber, &o->lr, "1e-3", "initial learning rate", .low = 0, .high = INT64_MAX},
      {"--schedule", kFlagChoice, &o->schedule, "cosine", "course of the learning rate; cosine ends at 0",
       .choices = "constant|cosine"},
      {"--seed", kFlagWhole, &o->seed, "0", "of the initial weights and of the order of the data", .low = 0,
       .high = INT64_MAX},
      {"--threads", kFlagWhole, &o->threads, "0", "that compute; 0: as many as the machine allows", .low = 0,
       .high = 256},
      {"--sharding", kFlagChoice, &o->sharding, "none",
       "what the processes of halftone-run share: ddp: each batch; optimizer, gradients, full: its state, gradients "
       "and weights, too; hybrid: full in pairs of processes",
       .choices = SHARDING_CHOICES},
      {"--log", kFlagText, &o->log, .meaning = "write one JSON object per step to this file, for halftone-report"},
      {"--monitor", kFlagWhole, &o->monitor, "0",
       "steps from one sample of all weights, gradients and activations in the log to the next; 0: none", .low = 0,
       .high = 1000000000},
      {"--checkpoint", kFlagText, &o->checkpoint,
       .meaning = "save checkpoints in this directory, the last one when the run ends"},
      {"--checkpoint-every", kFlagWhole, &o->checkpoint_every, "500", "steps from one checkpoint to the next", .low = 1,
       .high = 1000000000},
      {"--resume", kFlagSwitch, &o->resume, .meaning = "continue from the newest checkpoint, if there is one"},
  };
  const flag_table tables[] = {{flags, flag_count}, {common, sizeof common / sizeof common[0]}};
  o->steps = INT64_MAX;
  if (!flags_parse(summary, tables, 2, argc, argv, out_exit_status)) return false;
  t->precision = kPrecisions[o->precision].dtype;
  *out_exit_status = kExitUsage;
  if (o->resume && o->checkpoint == NULL) {
    print_error("--resume: needs --checkpoint, the directory to continue from");
    return false;
  }
  if (o->monitor == 0 || o->log != NULL) return true;
  print_error("--monitor: needs --log, the file of the samples");
  return false;
}

static bool refuse_text(trainer* t, const char* flag_name, const char* value, const char* expected) {
  print_error("%s '%s': expected %s", flag_name, value, expected);
  t->exit_status = kExitUsage;
  return false;
}

bool trainer_refuse(trainer* t, const char* flag_name, int64_t value, const char* expected) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return refuse_text(t, flag_name, text, expected);
}

/* Each of many processes on a machine takes the GPU of its number. */
static bool name_device(const train_options* options, char* out, size_t capacity) {
  htone_launch launch = HTONE_LAUNCH_INIT;
  if (!ok(htone_launch_read(&launch))) return false;
  if (strcmp(options->device, "cuda") == 0 && launch.size > 1) {
    snprintf(out, capacity, "cuda:%d", (int)launch.local_rank);
  } else {
    snprintf(out, capacity, "%s", options->device);
  }
  return true;
}

bool trainer_begin(trainer* t) {
  char device[64];
  htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
  t->exit_status = kExitFailure;
  t->ranks.size = 1;
  options.num_threads = (int32_t)t->options.threads;
  options.seed = (uint64_t)t->options.seed;
  if (!ok(htone_handles_begin(&t->objects)) || !ok(htone_context_create(&options, &t->context)) ||
      !name_device(&t->options, device, sizeof device)) {
    return false;
  }
  const htone_status status = htone_device_create(t->context, device, &t->device);
  if (status != HTONE_ERROR_DEVICE && status != HTONE_ERROR_INVALID_ARGUMENT) return ok(status);
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  htone_error_last(&info); /* says why, such as a missing driver */
  print_error("--device '%s': expected a device that this machine has, such as cpu; %s", device, info.message);
  t->exit_status = kExitUsage;
  return false;
}

bool trainer_join(trainer* t) {
  char expected[64];
  const sharding_kind kind = (sharding_kind)t->options.sharding;
  if (!ranks_join(&t->ranks, t->device, kind)) return false;
  stop_signal_watch();
  const int size = (int)t->ranks.size;
  if (kind == kShardingHybrid && (size % kHybridRanks != 0 || size == kHybridRanks)) {
    snprintf(expected, sizeof expected, "an even number of processes, at least 4, not %d", size);
    return refuse_text(t, "--sharding", "hybrid", expected);
  }
  if (t->options.batch % size == 0) return true;
  snprintf(expected, sizeof expected, "a multiple of %d, the number of processes", size);
  return trainer_refuse(t, "--batch", t->options.batch, expected);
}

htone_sampler_options trainer_sampling(const trainer* t, int64_t count) {
  htone_sampler_options sampling = HTONE_SAMPLER_OPTIONS_INIT;
  sampling.count = count;
  sampling.batch_size = t->options.batch / t->ranks.size;
  sampling.seed = (uint64_t)t->options.seed;
  sampling.rank = t->ranks.rank;
  sampling.world_size = t->ranks.size;
  sampling.drop_last = 1; /* all steps have as many samples, and all processes as many steps */
  return sampling;
}

bool trainer_count_steps(trainer* t, int64_t accumulate) {
  int64_t batches;
  if (!ok(htone_sampler_batches_per_epoch(t->sampler, &batches))) return false;
  t->steps_per_epoch = batches / accumulate > 0 ? batches / accumulate : 1;
  t->total_steps = t->options.epochs * t->steps_per_epoch;
  if (t->options.steps < t->total_steps) t->total_steps = t->options.steps;
  return true;
}

static bool build_schedule(trainer* t) {
  const int64_t warmup = t->warmup_steps;
  htone_schedule* schedule = NULL;
  return ok(t->options.schedule == 1 ? htone_schedule_create_cosine(t->total_steps - warmup, 0.0, &schedule)
                                     : htone_schedule_create_constant(&schedule)) &&
         (warmup == 0 || ok(htone_schedule_create_warmup(warmup, 1.0 / (double)(warmup + 1), schedule, &schedule))) &&
         ok(htone_optimizer_set_schedule(t->optimizer, schedule));
}

/* The layers get the recipe, too: they keep the magnitudes from which fp8-delayed takes its scales. */
static bool make_policy(trainer* t) {
  const htone_recipe_kind kind = kPrecisions[t->options.precision].recipe;
  htone_recipe* recipe;
  size_t layers;
  return ok(htone_autocast_policy_create(t->precision, &t->policy)) &&
         (kind == 0 ||
          (ok(htone_recipe_create(kind, NULL, &recipe)) && ok(htone_autocast_policy_set_recipe(t->policy, recipe)) &&
           ok(htone_module_set_recipe_matching(t->model, NULL, "linear", recipe, &layers))));
}

bool trainer_build(trainer* t) {
  htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_grad_scaler_options scaling = HTONE_GRAD_SCALER_OPTIONS_INIT;
  adamw.compute_dtype = t->precision;
  adamw.lr = t->options.lr;
  scaling.enabled = t->precision == HTONE_F16;
  return make_policy(t) && ranks_share(&t->ranks, t->model, t->unit_kind, t->precision) &&
         ok(htone_optimizer_create(t->model, &adamw, &t->optimizer)) && build_schedule(t) &&
         ok(htone_grad_scaler_create(t->device, &scaling, &t->scaler));
}

/* The library warns when it skips a damaged checkpoint. */
static void print_warning(const char* message, void* user) {
  (void)user;
  fprintf(stderr, "warning: %s\n", message);
}

static bool open_checkpoint(trainer* t) {
  const char* directory = t->options.checkpoint;
  int64_t step;
  if (directory == NULL) return true;
  if (!ok(htone_log_set_callback(print_warning, NULL, NULL)) ||
      !ok(t->ranks.group == NULL
              ? htone_checkpoint_create(t->context, directory, &t->checkpoint)
              : htone_checkpoint_create_shared(t->context, directory, t->ranks.group, &t->checkpoint)) ||
      !ok(htone_checkpoint_add_module(t->checkpoint, "model", t->model)) ||
      !ok(htone_checkpoint_add_optimizer(t->checkpoint, "optimizer", t->optimizer)) ||
      !ok(htone_checkpoint_add_grad_scaler(t->checkpoint, "scaler", t->scaler)) ||
      !ok(htone_checkpoint_add_sampler(t->checkpoint, "sampler", t->sampler)) ||
      !ok(t->options.resume ? htone_checkpoint_load(t->checkpoint, &step)
                            : htone_checkpoint_latest(t->checkpoint, &step))) {
    return false;
  }
  if (step < 0) return true;
  if (t->options.resume) {
    printf("going on after step %lld\n", (long long)step);
    t->first_step = t->steps_done = step;
    return true;
  }
  print_error("--checkpoint '%s': holds a run of %lld steps; go on from there with --resume, or take another directory",
              directory, (long long)step);
  return false;
}

/* The first process alone has a log. One of a resumed run keeps its lines. */
static bool open_log(trainer* t) {
  htone_statistics_options options = HTONE_STATISTICS_OPTIONS_INIT;
  htone_monitor_options sampling = HTONE_MONITOR_OPTIONS_INIT;
  if (t->options.log == NULL || t->ranks.rank != 0) return true;
  options.label = kPrecisions[t->options.precision].name;
  sampling.interval = t->options.monitor;
  return ok(htone_statistics_create(t->device, &options, &t->log)) &&
         ok(htone_statistics_set_optimizer(t->log, t->optimizer, t->scaler)) &&
         ok(htone_statistics_set_step_count(t->log, t->steps_done)) &&
         (t->options.monitor == 0 || ok(htone_statistics_watch(t->log, t->model, t->optimizer, &sampling))) &&
         ok(htone_statistics_write_to(t->log, t->options.log));
}

bool trainer_open_files(trainer* t) {
  int32_t threads;
  if (!open_checkpoint(t) || !open_log(t) || !ranks_read_sent(&t->ranks, &t->sent) || !ok(htone_context_num_threads(t->context, &threads))) {
    return false;
  }
  if (t->ranks.size > 1) printf("processes: %d\n", (int)t->ranks.size);
  printf("training in %s on %s, threads: %d, epochs of %lld steps, %lld steps in all\n", htone_dtype_name(t->precision),
         t->options.device, (int)threads, (long long)t->steps_per_epoch, (long long)t->total_steps);
  t->step_end = t->line_end = seconds_now();
  return true;
}

bool trainer_goes_on(const trainer* t) { return t->steps_done < t->total_steps && t->stop_signal == 0; }

bool trainer_begin_step(trainer* t) {
  return t->log == NULL || (ok(htone_statistics_begin_step(t->log)) && trainer_begin_part(t, HTONE_STEP_PART_DATA));
}

bool trainer_begin_part(trainer* t, htone_step_part part) {
  return t->log == NULL || ok(htone_statistics_begin_part(t->log, part));
}

bool trainer_backward(trainer* t, htone_tensor* loss, double share) {
  htone_tensor* scaled = NULL;
  return trainer_begin_part(t, HTONE_STEP_PART_BACKWARD) &&
         (share == 1 || ok(htone_mul_scalar(loss, share, &loss))) &&
         ok(htone_grad_scaler_scale(t->scaler, loss, &scaled)) && ok(htone_tensor_backward(scaled, NULL, 0));
}

/* Clips the gradients. Without a limit their norm is computed for the log alone; that of shared gradients needs all
 * processes. */
static bool clip(trainer* t) {
  const bool is_logged = t->options.log != NULL && (t->log != NULL || t->ranks.fsdp != NULL);
  const double limit = t->max_grad_norm > 0 ? t->max_grad_norm : DBL_MAX;
  if (!is_logged && t->max_grad_norm == 0) return true;
  return ok(htone_grad_scaler_unscale(t->scaler, t->optimizer)) &&
         ok(htone_optimizer_clip_grad_norm(t->optimizer, limit, 0));
}

bool trainer_update(trainer* t) {
  return trainer_begin_part(t, HTONE_STEP_PART_OPTIMIZER) && clip(t) &&
         ok(htone_grad_scaler_step(t->scaler, t->optimizer)) && ok(htone_grad_scaler_update(t->scaler));
}

/* Prints a line at the end of each epoch and every kLineInterval steps, with the mean loss since the last line. */
static void print_progress(trainer* t, double loss, int64_t items) {
  const int64_t step = t->steps_done, epoch = (step - 1) / t->steps_per_epoch + 1;
  const int64_t epochs = (t->total_steps + t->steps_per_epoch - 1) / t->steps_per_epoch;
  t->line_loss += loss;
  ++t->line_steps;
  if (step % kLineInterval != 0 && step % t->steps_per_epoch != 0 && step != t->total_steps) return;
  printf("epoch %lld/%lld step %lld/%lld loss %.4f %.0f %s/s\n", (long long)epoch, (long long)epochs, (long long)step,
         (long long)t->total_steps, t->line_loss / (double)t->line_steps,
         (double)(items * t->line_steps) / (t->step_end - t->line_end), t->items);
  fflush(stdout);
  t->line_end = t->step_end;
  t->line_loss = 0;
  t->line_steps = 0;
}

bool trainer_end_step(trainer* t, double loss, int64_t items) {
  ++t->steps_done;
  t->stop_signal = stop_signal_received();
  if (!trainer_begin_part(t, HTONE_STEP_PART_OTHER) || !ranks_agree(&t->ranks, t->device, &loss, &t->stop_signal) ||
      (t->log != NULL && !ok(htone_statistics_end_step(t->log, loss, items)))) {
    return false;
  }
  t->step_end = seconds_now();
  print_progress(t, loss, items);
  const bool is_due = t->steps_done % t->options.checkpoint_every == 0 || !trainer_goes_on(t);
  return t->checkpoint == NULL || !is_due || ok(htone_checkpoint_save(t->checkpoint, t->steps_done));
}

static double mebibytes(int64_t bytes) { return (double)bytes / (1 << 20); }

/* Prints what this process keeps of the state of training between two steps, and what it sends in a step. */
static bool print_shares(const trainer* t) {
  htone_memory_stats used = HTONE_MEMORY_STATS_INIT;
  const int64_t steps = t->steps_done - t->first_step;
  int64_t sent;
  if (t->ranks.group == NULL || steps == 0) return true;
  if (!ok(htone_device_memory_stats(t->device, &used)) || !ranks_read_sent(&t->ranks, &sent)) return false;
  printf("MiB of this process: weights %.3f, gradients %.3f, optimizer %.3f, sent in a step %.3f\n",
         mebibytes(used.by_category[HTONE_MEMORY_PARAMETERS]), mebibytes(used.by_category[HTONE_MEMORY_GRADIENTS]),
         mebibytes(used.by_category[HTONE_MEMORY_OPTIMIZER]), mebibytes(sent - t->sent) / (double)steps);
  return true;
}

/* All processes have done the same steps. */
bool trainer_begin_finish(trainer* t, bool* out_finishes) {
  const bool is_complete = t->steps_done == t->total_steps;
  *out_finishes = is_complete && t->ranks.rank == 0;
  return !is_complete || (print_shares(t) && ranks_end_training(&t->ranks));
}

/* Returns whether the log was completed and every object of the library is released. */
static bool release(trainer* t) {
  const bool closed = (t->log == NULL || ok(htone_statistics_flush(t->log))) && ranks_release_weights(&t->ranks);
  int64_t handles;
  if (t->objects != NULL && !ok(htone_scope_end(t->objects))) return false;
  if (!ok(htone_debug_live_handles(&handles))) return false;
  if (handles != 0) print_error("%lld handles of the library are still alive", (long long)handles);
  return closed && handles == 0;
}

int trainer_end(trainer* t, bool done) {
  const int signal_number = t->stop_signal != 0 ? t->stop_signal : stop_signal_received();
  if (done && signal_number != 0) {
    printf("stopped by %s after step %lld of %lld\n", stop_signal_name(signal_number), (long long)t->steps_done,
           (long long)t->total_steps);
  }
  if (!release(t)) return kExitFailure;
  if (fflush(stdout) != 0 || ferror(stdout)) {
    print_error("standard output cannot be written");
    return kExitFailure;
  }
  if (!done) return t->exit_status;
  return signal_number == 0 ? kExitOk : 128 + signal_number;
}
