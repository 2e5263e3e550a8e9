#include "trainer.h"

#include <stdio.h>
#include <string.h>

#include "failure.h"
#include "memory_table.h"
#include "stop_signal.h"

bool trainer_refuse(trainer* t, const char* flag_name, const char* value, const char* expected) {
  print_error("%s '%s': expected %s", flag_name, value, expected);
  t->failure_status = kExitUsage;
  return false;
}

bool trainer_refuse_count(trainer* t, const char* flag_name, int64_t value, const char* expected) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return trainer_refuse(t, flag_name, text, expected);
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

bool trainer_begin(trainer* t, const train_options* options) {
  char device[64];
  htone_context_options context_options = HTONE_CONTEXT_OPTIONS_INIT;
  t->failure_status = kExitFailure;
  t->ranks = ranks_alone();
  context_options.num_threads = options->threads;
  context_options.seed = options->seed;
  if (!ok(htone_handles_begin(&t->objects)) || !ok(htone_context_create(&context_options, &t->context))) return false;
  if (!name_device(options, device, sizeof device)) return false;
  const htone_status status = htone_device_create(t->context, device, &t->device);
  if (status == HTONE_ERROR_DEVICE || status == HTONE_ERROR_INVALID_ARGUMENT) {
    htone_error_info info = HTONE_ERROR_INFO_INIT;
    htone_error_last(&info); /* tells why, such as a missing driver */
    print_error("--device '%s': expected a device that this machine has, such as cpu; %s", device,
                info.message);
    t->failure_status = kExitUsage;
    return false;
  }
  return ok(status);
}

bool trainer_join_ranks(trainer* t, const train_options* options, int64_t batch) {
  char expected[64];
  if (!ranks_join(&t->ranks, t->device, options->sharding)) return false;
  if (options->sharding == kShardingHybrid && (t->ranks.size % kHybridRanks != 0 || t->ranks.size == kHybridRanks)) {
    snprintf(expected, sizeof expected, "an even number of processes, at least 4, not %d", (int)t->ranks.size);
    return trainer_refuse(t, "--sharding", "hybrid", expected);
  }
  if (options->offload != HTONE_OFFLOAD_NONE && options->sharding < kShardingOptimizer) {
    return trainer_refuse(t, "--offload", options->offload == HTONE_OFFLOAD_HOST ? "memory" : "file",
                          "none, or --sharding optimizer, gradients, full or hybrid");
  }
  if (batch % t->ranks.size == 0) return true;
  snprintf(expected, sizeof expected, "a multiple of %d, the number of processes", (int)t->ranks.size);
  return trainer_refuse_count(t, "--batch", batch, expected);
}

htone_sampler_options trainer_sampling(const trainer* t, const train_options* options) {
  htone_sampler_options sampling = HTONE_SAMPLER_OPTIONS_INIT;
  sampling.seed = options->seed;
  sampling.rank = t->ranks.rank;
  sampling.world_size = t->ranks.size;
  sampling.drop_last = 1; /* all steps have as many samples, and all processes as many steps */
  return sampling;
}

bool trainer_count_steps(trainer* t, const train_options* options, int64_t epochs, int64_t accumulate) {
  int64_t batches;
  if (!ok(htone_sampler_batches_per_epoch(t->sampler, &batches))) return false;
  t->steps_per_epoch = batches / accumulate > 0 ? batches / accumulate : 1;
  t->total_steps = options->steps;
  if (t->total_steps / epochs >= t->steps_per_epoch) t->total_steps = epochs * t->steps_per_epoch;
  return true;
}

static bool build_schedule(trainer* t, const train_options* options) {
  htone_schedule* schedule = NULL;
  return ok(options->cosine ? htone_schedule_create_cosine(t->total_steps - t->warmup_steps, 0.0, &schedule)
                            : htone_schedule_create_constant(&schedule)) &&
         (t->warmup_steps == 0 || ok(htone_schedule_create_warmup(t->warmup_steps, 1.0 / (double)(t->warmup_steps + 1),
                                                                  schedule, &schedule))) &&
         ok(htone_optimizer_set_schedule(t->optimizer, schedule));
}

bool trainer_build_update(trainer* t, const train_options* options) {
  htone_adamw_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_grad_scaler_options scaling = HTONE_GRAD_SCALER_OPTIONS_INIT;
  t->precision = adamw.compute_dtype = options->precision;
  adamw.lr = options->lr;
  scaling.enabled = options->precision == HTONE_F16;
  return ok(htone_autocast_policy_create(options->precision, &t->policy)) &&
         ok(htone_optimizer_create_adamw(t->model, &adamw, &t->optimizer)) && build_schedule(t, options) &&
         ok(htone_grad_scaler_create(t->device, &scaling, &t->scaler));
}

static bool open_journal(trainer* t, const run_options* run) {
  run_options own = *run;
  if (t->ranks.rank != 0) own.log = NULL;
  const checkpoint_parts parts = {.context = t->context,
                                  .group = t->ranks.group,
                                  .model = t->model,
                                  .data = t->data,
                                  .optimizer = t->optimizer,
                                  .scaler = t->scaler,
                                  .sampler = t->sampler};
  return journal_open(&t->journal, &own, &parts);
}

static bool announce(trainer* t, const train_options* options) {
  int32_t threads;
  if (!ok(htone_context_num_threads(t->context, &threads))) return false;
  if (t->ranks.size > 1) printf("processes: %d\n", (int)t->ranks.size);
  printf("training in %s on %s, threads: %d, epochs of %lld steps, %lld steps in all\n",
         htone_dtype_name(options->precision), options->device, (int)threads, (long long)t->steps_per_epoch,
         (long long)t->total_steps);
  return true;
}

/* Weights that processes share cannot be looked at outside of a forward, so this is done before. */
static bool count_elements(trainer* t) {
  htone_scope* temporaries = NULL;
  htone_parameters* parameters;
  size_t count;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  bool done =
      ok(htone_parameters_create_from_module(t->model, &parameters)) && ok(htone_parameters_count(parameters, &count));
  for (size_t i = 0; done && i < count; ++i) {
    htone_parameter* parameter;
    htone_tensor* weights;
    int64_t elements;
    done = ok(htone_parameters_at(parameters, i, &parameter)) && ok(htone_parameter_tensor(parameter, &weights)) &&
           ok(htone_tensor_numel(weights, &elements));
    if (done) t->elements += elements;
  }
  return ok(htone_scope_end(temporaries)) && done;
}

bool trainer_share(trainer* t, const train_options* options) {
  const sharing how = {.unit_kind = t->unit_kind,
                       .weight_dtype = options->precision,
                       .offload = options->offload,
                       .offload_path = options->offload_path};
  return ranks_share(&t->ranks, t->model, &how);
}

bool trainer_build(trainer* t, const train_options* options, const run_options* run) {
  const bool done = count_elements(t) && trainer_share(t, options) && trainer_build_update(t, options) &&
                    open_journal(t, run) && announce(t, options);
  t->first_step = t->journal.steps_done;
  return done && ranks_read_sent(&t->ranks, &t->sent);
}

bool trainer_goes_on(const trainer* t) { return t->journal.steps_done < t->total_steps && t->stop_signal == 0; }

bool trainer_backward(trainer* t, htone_tensor* loss, double share) {
  htone_tensor* scaled = NULL;
  return (share == 1 || ok(htone_mul_scalar(loss, share, &loss))) &&
         ok(htone_grad_scaler_scale(t->scaler, loss, &scaled)) && ok(htone_tensor_backward(scaled, NULL, 0));
}

/* Describes the coming step. The norm is that of the unscaled gradients, and computed only for the log. */
static bool describe_step(trainer* t, train_record* record) {
  /* The first process alone has a log, but the norm of shared gradients needs all of them. */
  const bool is_logged = t->journal.log.file != NULL || t->ranks.fsdp != NULL;
  return ok(htone_optimizer_lr(t->optimizer, &record->lr)) &&
         ok(htone_grad_scaler_current_scale(t->scaler, &record->loss_scale)) &&
         ((!is_logged && t->max_grad_norm == 0) || ok(htone_grad_scaler_unscale(t->scaler, t->optimizer))) &&
         (!is_logged || ok(htone_optimizer_grad_norm(t->optimizer, &record->grad_norm)));
}

bool trainer_update(trainer* t, train_record* record) {
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  const bool done = describe_step(t, record) &&
                    (t->max_grad_norm == 0 || ok(htone_optimizer_clip_grad_norm(t->optimizer, t->max_grad_norm, 0))) &&
                    ok(htone_grad_scaler_step(t->scaler, t->optimizer)) &&
                    ok(htone_optimizer_outcome(t->optimizer, &outcome)) && ok(htone_grad_scaler_update(t->scaler));
  record->outcome = outcome.skipped ? "skipped" : "stepped";
  return done;
}

bool trainer_end_step(trainer* t, train_record* record, int64_t items) {
  t->stop_signal = stop_signal_received();
  if (!ranks_agree(&t->ranks, &record->loss, &t->stop_signal)) return false;
  const bool ends = record->step == t->total_steps || t->stop_signal != 0;
  return journal_end_step(&t->journal, record, items, ends);
}

/* Prints what the last step has left in memory, and what a step sends. */
static bool print_state(trainer* t) {
  const int64_t steps = t->journal.steps_done - t->first_step;
  int64_t sent;
  if (t->ranks.group == NULL || steps == 0) return true;
  int64_t offloaded = 0;
  if (!memory_print_state(t->device, t->elements, t->precision) || !ranks_read_sent(&t->ranks, &sent) ||
      (t->ranks.fsdp != NULL && !ok(htone_fsdp_offloaded_bytes(t->ranks.fsdp, &offloaded)))) {
    return false;
  }
  if (offloaded > 0) printf("weights and moments kept elsewhere: %.3f MiB\n", (double)offloaded / (1 << 20));
  printf("sent by this process in a step: %.3f MiB\n", (double)(sent - t->sent) / (double)steps / (1 << 20));
  return true;
}

/* All processes have done the same steps. */
bool trainer_begin_finish(trainer* t, bool* out_finishes) {
  const bool is_complete = t->journal.steps_done == t->total_steps;
  *out_finishes = is_complete && t->ranks.rank == 0;
  return !is_complete || (print_state(t) && ranks_end_training(&t->ranks));
}

/* Returns whether the log was closed without an error and every object of the library is released. */
static bool release(trainer* t) {
  const bool closed = journal_close(&t->journal) && ranks_release_weights(&t->ranks);
  int64_t handles;
  if (t->objects != NULL && !ok(htone_scope_end(t->objects))) return false;
  if (!ok(htone_debug_live_handles(&handles))) return false;
  if (handles != 0) print_error("%lld handles of the library are still alive", (long long)handles);
  return closed && handles == 0;
}

int trainer_end(trainer* t, bool done) {
  const int signal_number = t->stop_signal != 0 ? t->stop_signal : stop_signal_received();
  if (done && signal_number != 0) {
    printf("stopped by %s after step %lld of %lld\n", stop_signal_name(signal_number), (long long)t->journal.steps_done,
           (long long)t->total_steps);
  }
  if (!release(t)) return kExitFailure;
  if (fflush(stdout) != 0 || ferror(stdout)) {
    print_error("standard output cannot be written");
    return kExitFailure;
  }
  if (!done) return t->failure_status;
  return signal_number == 0 ? kExitOk : 128 + signal_number;
}
