#include "checkpoints.h"

#include <stdio.h>

#include "failure.h"

/* The library warns when it skips a damaged checkpoint. */
static void print_warning(const char* message, void* user) {
  (void)user;
  fprintf(stderr, "warning: %s\n", message);
}

bool checkpoints_add_data(htone_checkpoint* run, htone_state_dict* data) {
  return ok(htone_checkpoint_add_state_dict(run, "data", data));
}

static bool add_parts(htone_checkpoint* run, const checkpoint_parts* parts) {
  return (parts->model == NULL || ok(htone_checkpoint_add_module(run, "model", parts->model))) &&
         (parts->weights == NULL || ok(htone_checkpoint_add_state_dict(run, "weights", parts->weights))) &&
         (parts->data == NULL || checkpoints_add_data(run, parts->data)) &&
         (parts->optimizer == NULL || ok(htone_checkpoint_add_optimizer(run, "optimizer", parts->optimizer))) &&
         (parts->scaler == NULL || ok(htone_checkpoint_add_grad_scaler(run, "scaler", parts->scaler))) &&
         (parts->sampler == NULL || ok(htone_checkpoint_add_sampler(run, "sampler", parts->sampler)));
}

static bool refuse_old_run(const run_options* options, int64_t step) {
  print_error("--checkpoint '%s': holds a run of %lld steps; go on from there with --resume, or take another directory",
              options->checkpoint, (long long)step);
  return false;
}

static htone_status open_directory(const run_options* options, const checkpoint_parts* parts, htone_checkpoint** out) {
  if (parts->group == NULL) return htone_checkpoint_create(parts->context, options->checkpoint, out);
  return htone_checkpoint_create_shared(parts->context, options->checkpoint, parts->group, out);
}

bool checkpoints_open(checkpoints* c, const run_options* options, const checkpoint_parts* parts,
                      int64_t* out_steps_done) {
  *c = (checkpoints){.every = options->checkpoint_every, .saved = -1};
  *out_steps_done = 0;
  if (options->checkpoint == NULL) return true;
  if (!ok(htone_log_set_callback(print_warning, NULL, NULL)) || !ok(open_directory(options, parts, &c->run)) ||
      !add_parts(c->run, parts)) {
    return false;
  }
  int64_t step;
  if (!ok(options->resume ? htone_checkpoint_load(c->run, &step) : htone_checkpoint_latest(c->run, &step)))
    return false;
  if (step < 0) return true;
  if (!options->resume) return refuse_old_run(options, step);
  printf("going on after step %lld\n", (long long)step);
  *out_steps_done = c->saved = step;
  return true;
}

bool checkpoints_take_step(checkpoints* c, int64_t steps_done, bool ends) {
  const bool is_due = ends || steps_done % c->every == 0;
  if (c->run == NULL || !is_due || steps_done == c->saved) return true;
  c->saved = steps_done;
  return ok(htone_checkpoint_save(c->run, steps_done));
}

void checkpoints_close(checkpoints* c) { htone_checkpoint_release(c->run); }
