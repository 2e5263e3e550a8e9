#include "halftone/optim.h"

#include "arguments.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

void require_positive(double value, const char* argument) {
  if (!(value > 0.0)) fail(Code::kInvalidArgument, argument, "%s=%g, expected a number above 0", argument, value);
}

void require_group(const optim::Optimizer& optimizer, size_t index) {
  if (index < optimizer.group_count()) return;
  fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, optimizer.group_count());
}

}  // namespace

htone_status htone_optimizer_retain(htone_optimizer* optimizer) {
  return guard([&] { retain_handle(optimizer, "optimizer"); });
}

htone_status htone_optimizer_release(htone_optimizer* optimizer) {
  return guard([&] { release_handle(optimizer, "optimizer"); });
}

htone_status htone_optimizer_zero_grad(htone_optimizer* optimizer) {
  return guard([&] { hold(optimizer, "optimizer")->zero_grad(); });
}

htone_status htone_optimizer_step(htone_optimizer* optimizer) {
  return guard([&] { hold(optimizer, "optimizer")->step(); });
}

htone_status htone_optimizer_set_schedule(htone_optimizer* optimizer, htone_schedule* schedule) {
  return guard([&] {
    optim::Optimizer& target = *unwrap(optimizer, "optimizer");
    target.set_schedule(unwrap(schedule, "schedule")->rule);
  });
}

htone_status htone_optimizer_lr(htone_optimizer* optimizer, double* out_lr) {
  return guard([&] {
    const Ref<optim::Optimizer> source = hold(optimizer, "optimizer");
    require(out_lr, "out_lr") = source->lr(0);
  });
}

htone_status htone_optimizer_group_count(htone_optimizer* optimizer, size_t* out_count) {
  return guard([&] {
    const optim::Optimizer& source = *unwrap(optimizer, "optimizer");
    require(out_count, "out_count") = source.group_count();
  });
}

htone_status htone_optimizer_group_lr(htone_optimizer* optimizer, size_t index, double* out_lr) {
  return guard([&] {
    const Ref<optim::Optimizer> source = hold(optimizer, "optimizer");
    require_group(*source, index);
    require(out_lr, "out_lr") = source->lr(index);
  });
}

htone_status htone_optimizer_set_group_lr(htone_optimizer* optimizer, size_t index, double lr) {
  return guard([&] {
    optim::Optimizer& target = *unwrap(optimizer, "optimizer");
    require_group(target, index);
    if (!(lr >= 0.0)) fail(Code::kInvalidArgument, "lr", "lr=%g, expected a number of at least 0", lr);
    require_finite(lr, "lr");
    target.set_lr(index, lr);
  });
}

htone_status htone_optimizer_step_count(htone_optimizer* optimizer, int64_t* out_count) {
  return guard([&] {
    const optim::Optimizer& source = *unwrap(optimizer, "optimizer");
    require(out_count, "out_count") = source.step_count();
  });
}

htone_status htone_optimizer_grad_norm(htone_optimizer* optimizer, double* out_norm) {
  return guard([&] {
    optim::Optimizer& source = *unwrap(optimizer, "optimizer");
    require(out_norm, "out_norm");
    *out_norm = source.grad_norm();
  });
}

htone_status htone_optimizer_grad_factor(htone_optimizer* optimizer, double* out_factor) {
  return guard([&] {
    const optim::Optimizer& source = *unwrap(optimizer, "optimizer");
    require(out_factor, "out_factor") = source.grad_factor();
  });
}

htone_status htone_optimizer_clip_grad_norm(htone_optimizer* optimizer, double max_norm) {
  return guard([&] {
    optim::Optimizer& target = *unwrap(optimizer, "optimizer");
    require_positive(max_norm, "max_norm");
    require_finite(max_norm, "max_norm");
    target.clip_grad_norm(max_norm);
  });
}

htone_status htone_optimizer_set_clip_value(htone_optimizer* optimizer, double value) {
  return guard([&] {
    optim::Optimizer& target = *unwrap(optimizer, "optimizer");
    require_positive(static_cast<float>(value), "value");
    target.set_clip_value(value);
  });
}
