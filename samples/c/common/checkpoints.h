/* The checkpoints of a training run: saved every N steps and at the end, and loaded to resume. One thread. As in all
 * samples, functions print one line and return false on failure. */
#ifndef SAMPLES_CHECKPOINTS_H
#define SAMPLES_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "halftone/halftone.h"
#include "run_options.h"

typedef struct checkpoints {
  htone_checkpoint* run; /* NULL if no directory was given: then all functions do nothing */
  int64_t every;
  int64_t saved; /* the newest step that this run has saved or loaded; -1 before */
} checkpoints;

/* The content of a sample's checkpoint. NULL for parts that the sample does not have; `context` is required. */
typedef struct checkpoint_parts {
  htone_context* context;
  htone_group* group; /* of the processes that train together */
  htone_module* model;
  htone_state_dict* weights; /* of a model that the program owns */
  htone_state_dict* data;    /* tensors that tell the data of the run, such as its vocabulary */
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  htone_sampler* sampler;
} checkpoint_parts;

/* Adds checkpoint_parts.data alone, to read it before all else. */
bool checkpoints_add_data(htone_checkpoint* run, htone_state_dict* data);

/* Opens options->checkpoint and, with options->resume, loads its newest checkpoint. *out_steps_done is the step of that
 * checkpoint, or 0 if there is none. A directory with checkpoints is refused without --resume. */
bool checkpoints_open(checkpoints* c, const run_options* options, const checkpoint_parts* parts,
                      int64_t* out_steps_done);

/* Saves if a checkpoint is due after this many steps, or if the run ends here. */
bool checkpoints_take_step(checkpoints* c, int64_t steps_done, bool ends);

void checkpoints_close(checkpoints* c);

#endif
