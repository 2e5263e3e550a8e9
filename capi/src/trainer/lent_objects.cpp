#include "trainer/lent_objects.h"

#include "autograd/handles.h"
#include "ops/dispatch/autocast.h"
#include "optim/grad_scaler.h"
#include "optim/handles.h"
#include "trainer/trainer.h"

namespace halftone::capi {

void give_optimizer(trainer::Trainer& trainer, htone_optimizer** out) { give_handle(out, trainer.optimizer()); }

void give_scaler(const trainer::Trainer& trainer, htone_grad_scaler** out) { give_handle(out, trainer.scaler()); }

void give_policy(const trainer::Trainer& trainer, htone_autocast_policy** out) { give_handle(out, trainer.policy()); }

}  // namespace halftone::capi
