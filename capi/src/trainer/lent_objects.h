// Makes handles of the objects of a trainer. Apart from the calls, which need none of their classes.
#pragma once

struct htone_autocast_policy;
struct htone_grad_scaler;
struct htone_optimizer;

namespace halftone::trainer {
class Trainer;  // trainer/trainer.h
}

namespace halftone::capi {

void give_optimizer(trainer::Trainer& trainer, htone_optimizer** out);
void give_scaler(const trainer::Trainer& trainer, htone_grad_scaler** out);
void give_policy(const trainer::Trainer& trainer, htone_autocast_policy** out);

}  // namespace halftone::capi
