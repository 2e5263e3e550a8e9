#include "trainer/trainer.h"

#include "base/call.h"
#include "data/handles.h"
#include "halftone/trainer.h"
#include "nn/handles.h"
#include "ops/dispatch/autocast.h"
#include "scope/scope.h"
#include "tensor/handles.h"
#include "trainer/handles.h"
#include "trainer/make_trainer.h"

using namespace halftone;
using namespace halftone::capi;
using trainer::Trainer;

static_assert(static_cast<int32_t>(trainer::Phase::kDone) == HTONE_TRAINER_DONE);
static_assert(static_cast<int32_t>(trainer::Phase::kTrain) == HTONE_TRAINER_TRAIN);
static_assert(static_cast<int32_t>(trainer::Phase::kEvaluate) == HTONE_TRAINER_EVALUATE);

htone_status htone_trainer_create(htone_module* model, htone_batches* batches, const htone_trainer_options* options,
                                  htone_trainer** out) {
  return Call(make_trainer, borrowed(model), borrowed(batches), options, out);
}

htone_status htone_trainer_next(htone_trainer* trainer, htone_trainer_phase* out_phase) {
  return Call(&Trainer::next, trainer, out_phase);
}

htone_status htone_trainer_tensor(htone_trainer* trainer, size_t index, htone_tensor** out) {
  return Call(&Trainer::tensor, trainer, index, out);
}

htone_status htone_trainer_turn_begin(htone_trainer* trainer, htone_scope** out) {
  return guard([&] {
    const auto turned = hold(trainer, "trainer");
    Ref<OpenScope> open = open_scope();
    require_memory(out, "out");
    const Ref<AutocastPolicy> policy = turned->policy();
    open->held = policy;
    enter(std::move(open), out);
    scope().autocast = policy.get();
    if (turned->is_evaluating()) scope().grad_enabled = false;
  });
}

htone_status htone_trainer_take_loss(htone_trainer* trainer, htone_tensor* loss) {
  return Call(&Trainer::take_loss, trainer, loss);
}

htone_status htone_trainer_restart_step(htone_trainer* trainer) { return Call(&Trainer::restart_step, trainer); }

htone_status htone_trainer_save(htone_trainer* trainer) { return Call(&Trainer::save, trainer); }
