/* The checkpoints of a training run: saved every so many steps and when the run ends, loaded to go on. One thread. As
 * everywhere in the samples, functions print one line and answer false on failure.
 */
#ifndef SAMPLES_CHECKPOINTS_H
#define SAMPLES_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "halftone/halftone.h"
#include "run_options.h"

typedef struct checkpoints {
  htone_checkpoint* run; /* NULL where no directory was given: everything then does nothing */
  int64_t every;
  int64_t saved; /* the step of the newest that this run has saved or loaded; -1 before */
} checkpoints;

/* What a checkpoint of a sample holds; NULL for what the sample does not have, the context excepted. */
typedef struct checkpoint_parts {
  htone_context* context;
  htone_module* model;
  htone_state_dict* weights; /* of a model that is the program's own */
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  htone_sampler* sampler;
} checkpoint_parts;

/* Opens options->checkpoint and, where options->resume says so, loads the newest checkpoint in it. *out_steps_done is
 * its step, 0 where there is none. A directory that holds checkpoints is refused without --resume.
 */
bool checkpoints_open(checkpoints* c, const run_options* options, const checkpoint_parts* parts,
                      int64_t* out_steps_done);

/* Saves where a checkpoint is due after this many steps, or where the run ends here. */
bool checkpoints_take_step(checkpoints* c, int64_t steps_done, bool ends);

void checkpoints_close(checkpoints* c);

#endif
