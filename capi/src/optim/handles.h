// Handles of optimizers, gradient scalers and moving averages of weights.
#pragma once

#include "base/objects.h"

struct htone_ema;
struct htone_grad_scaler;
struct htone_optimizer;

namespace halftone::optim {
class Optimizer;   // optim/optimizer.h
class GradScaler;  // optim/grad_scaler.h
class Ema;         // optim/ema.h
}  // namespace halftone::optim

namespace halftone::capi {

template <>
struct HandleTraits<htone_optimizer> : HandleTo<Ref<optim::Optimizer>, HandleType::kOptimizer> {};
template <>
struct HandleTraits<htone_grad_scaler> : HandleTo<Ref<optim::GradScaler>, HandleType::kGradScaler> {};
template <>
struct HandleTraits<htone_ema> : HandleTo<Ref<optim::Ema>, HandleType::kEma> {};

}  // namespace halftone::capi
