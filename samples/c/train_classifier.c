/* Trains a small network with a trainer, as docs/trainer.md explains. Arguments: the precision, and a directory to save
 * checkpoints in and to go on from. The programs of the other languages compute the same losses. */
#include <stdio.h>
#include <stdlib.h>

#include "common/failure.h"
#include "common/points.h"

static void check(htone_status status) {
  if (!ok(status)) exit(EXIT_FAILURE);
}

int main(int argc, char** argv) {
  htone_trainer_options options = HTONE_TRAINER_OPTIONS_INIT;
  htone_trainer_progress progress = HTONE_TRAINER_PROGRESS_INIT;
  htone_trainer_phase phase;
  htone_scope *objects, *handles, *turn;
  htone_context* context;
  htone_device* device;
  htone_module *layers[3], *model;
  htone_batches *points, *others;
  htone_trainer* trainer;
  check(htone_handles_begin(&objects));
  check(htone_context_default(&context));
  check(htone_device_create(context, "cpu", &device));
  if (!points_make(device, 1, &points) || !points_make(device, 2, &others)) return EXIT_FAILURE;
  check(htone_module_create_linear(device, 2, 64, NULL, &layers[0]));
  check(htone_module_create_relu(&layers[1]));
  check(htone_module_create_linear(device, 64, 4, NULL, &layers[2]));
  check(htone_module_create_sequential(3, layers, &model));
  options.precision = argc > 1 ? argv[1] : "bf16";
  options.checkpoint = argc > 2 ? argv[2] : NULL;
  options.resume = 1;
  options.epochs = 5;
  options.lr = 1e-2;
  options.max_grad_norm = 1;
  options.evaluate_every = options.checkpoint_every = 50;
  check(htone_trainer_create(model, points, &options, &trainer));
  check(htone_trainer_set_evaluation(trainer, others));
  for (check(htone_trainer_next(trainer, &phase)); phase != HTONE_TRAINER_DONE;
       check(htone_trainer_next(trainer, &phase))) {
    htone_tensor *x, *classes, *logits, *loss;
    check(htone_handles_begin(&handles));
    check(htone_trainer_turn_begin(trainer, &turn));
    check(htone_trainer_tensor(trainer, 0, &x));
    check(htone_trainer_tensor(trainer, 1, &classes));
    check(htone_module_forward(model, x, NULL, &logits));
    check(htone_cross_entropy(logits, classes, NULL, &loss));
    check(htone_trainer_take_loss(trainer, loss));
    check(htone_scope_end(turn));
    check(htone_scope_end(handles));
  }
  check(htone_trainer_describe(trainer, &progress));
  printf("step %lld: loss of other points %.6f\n", (long long)progress.step, progress.evaluation_loss);
  check(htone_scope_end(objects));
  return EXIT_SUCCESS;
}
