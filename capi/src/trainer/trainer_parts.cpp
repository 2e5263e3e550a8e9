#include "halftone/trainer_parts.h"

#include <cstdio>

#include "analysis/handles.h"
#include "autograd/handles.h"
#include "base/call.h"
#include "checkpoint/handles.h"
#include "comm/handles.h"
#include "data/handles.h"
#include "optim/handles.h"
#include "scope/callback.h"
#include "trainer/handles.h"
#include "trainer/lent_objects.h"
#include "trainer/trainer.h"

using namespace halftone;
using namespace halftone::capi;
using trainer::Trainer;

static_assert(static_cast<int32_t>(trainer::RunEnd::kNone) == HTONE_TRAINER_END_NONE);
static_assert(static_cast<int32_t>(trainer::RunEnd::kSteps) == HTONE_TRAINER_END_STEPS);
static_assert(static_cast<int32_t>(trainer::RunEnd::kPatience) == HTONE_TRAINER_END_PATIENCE);

namespace {

htone_trainer_progress progress_of(const Trainer& trainer) {
  const trainer::StepRecord& last = trainer.last_step();
  const trainer::EvaluationRecord evaluation = trainer.evaluation();
  htone_trainer_progress progress = {};
  progress.end = static_cast<htone_trainer_end>(trainer.ended());
  progress.step = trainer.steps_done();
  progress.steps = trainer.steps();
  progress.loss = last.loss;
  progress.lr = last.lr;
  progress.loss_scale = last.loss_scale;
  progress.grad_norm = last.grad_norm;
  progress.seconds = static_cast<double>(last.nanoseconds) * 1e-9;
  progress.items = last.items;
  progress.evaluation_loss = evaluation.loss;
  progress.best_evaluation_loss = evaluation.best;
  progress.evaluation_step = evaluation.step;
  progress.evaluations_since_best = evaluation.worse;
  progress.skipped = last.skipped ? 1 : 0;
  std::snprintf(progress.parameter, sizeof progress.parameter, "%s", last.offending.c_str());
  return progress;
}

}  // namespace

htone_status htone_trainer_describe(htone_trainer* trainer, htone_trainer_progress* out_progress) {
  return Pure(progress_of, trainer, structure(out_progress, offsetof(htone_trainer_progress, parameter)));
}

htone_status htone_trainer_set_callback(htone_trainer* trainer, htone_trainer_step_fn callback, void* user,
                                        void (*destroy)(void* user)) {
  return guard([&] {
    const auto called = hold(trainer, "trainer");
    const Ref<Callback<htone_trainer_step_fn>> step = make_callback(callback, user);
    called->set_progress([step](int64_t number) { step->call("the callback of a trainer", number); });
    step->set_destroy(destroy);
  });
}

htone_status htone_trainer_set_evaluation(htone_trainer* trainer, htone_batches* batches) {
  return Call(&Trainer::set_evaluation, trainer, borrowed(batches));
}

htone_status htone_trainer_set_group(htone_trainer* trainer, htone_group* group) {
  return Call(&Trainer::set_group, trainer, borrowed(group));
}

htone_status htone_trainer_set_optimizer(htone_trainer* trainer, htone_optimizer* optimizer) {
  return Call(&Trainer::set_optimizer, trainer, borrowed(optimizer));
}

htone_status htone_trainer_set_grad_scaler(htone_trainer* trainer, htone_grad_scaler* scaler) {
  return Call(&Trainer::set_scaler, trainer, borrowed(scaler));
}

htone_status htone_trainer_set_policy(htone_trainer* trainer, htone_autocast_policy* policy) {
  return Call(&Trainer::set_policy, trainer, borrowed(policy));
}

htone_status htone_trainer_set_checkpoint(htone_trainer* trainer, htone_checkpoint* checkpoint) {
  return Call(&Trainer::set_checkpoint, trainer, borrowed(checkpoint));
}

htone_status htone_trainer_set_statistics(htone_trainer* trainer, htone_statistics* statistics) {
  return Call(&Trainer::set_statistics, trainer, borrowed(statistics));
}

htone_status htone_trainer_optimizer(htone_trainer* trainer, htone_optimizer** out) {
  return guard([&] {
    const auto owner = hold(trainer, "trainer");
    require_memory(out, "out");
    give_optimizer(*owner, out);
  });
}

htone_status htone_trainer_grad_scaler(htone_trainer* trainer, htone_grad_scaler** out) {
  return guard([&] {
    const auto owner = hold(trainer, "trainer");
    require_memory(out, "out");
    give_scaler(*owner, out);
  });
}

htone_status htone_trainer_policy(htone_trainer* trainer, htone_autocast_policy** out) {
  return guard([&] {
    const auto owner = hold(trainer, "trainer");
    require_memory(out, "out");
    give_policy(*owner, out);
  });
}
