#include "backend/cpu/kernel_groups.h"
#include "backend/cpu/optim/grad_norm.h"
#include "backend/cpu/optim/update.h"
#include "backend/formula/schedule.h"

namespace halftone::cpu {
namespace {

Status begin_step(Stream&, const Schedule& schedule, OptimizerState* state) noexcept {
  advance(schedule, *state);
  return {};
}

}  // namespace

const OptimKernels kOptimKernels = {
    .grad_norm = grad_norm,
    .begin_step = begin_step,
    .adamw = adamw,
    .sgd = sgd,
};

}  // namespace halftone::cpu
