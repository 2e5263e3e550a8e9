// The state of optimizers, gradient scalers and averages of weights as state dicts, and back. Weights are not among
// them: they are the modules'. REQUIRES of stage_state: the object lives until the load.
#pragma once

#include "optim/load_options.h"
#include "tensor/staged_load.h"

namespace halftone::optim {

class Ema;
class GradScaler;
class Optimizer;

// The moments of a parameter that ranks share are ranges of those of the whole parameter. Throws STATE between unscale
// and step.
StateDict state_of(const Optimizer& optimizer);
// Throws FORMAT where the state is of another kind of optimizer, other groups, parameters or storage. Without `strict`
// groups and parameters may differ, but other groups need keep_settings. `report` may be null.
StagedLoad stage_state(Optimizer& optimizer, const StateDict& state, const LoadOptions& options = {},
                       LoadReport* report = nullptr);
// The parameters that a load by name would find.
LoadReport compare_parameters(const Optimizer& optimizer, const StateDict& state);

// Throws STATE where the scaler waits for its update.
StateDict state_of(const GradScaler& scaler);
// Throws FORMAT for values that no scaler can have.
StagedLoad stage_state(GradScaler& scaler, const StateDict& state);

// Throws STATE while swapped: the weights are in the averages' place.
StateDict state_of(const Ema& ema);
// Throws FORMAT where the state is of other parameters.
StagedLoad stage_state(Ema& ema, const StateDict& state);

}  // namespace halftone::optim
