#include "halftone/optim.h"

#include <vector>

#include "arguments.h"
#include "guard.h"
#include "optim/adamw.h"
#include "optim/sgd.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_adamw_options default_adamw() {
  htone_adamw_options options = {};
  options.struct_size = sizeof options;
  options.compute_dtype = HTONE_F32;
  options.lr = 1e-3;
  options.beta1 = 0.9;
  options.beta2 = 0.999;
  options.epsilon = 1e-8;
  options.weight_decay = 0.01;
  options.grad_dtype = HTONE_F32;
  options.moment1_dtype = HTONE_F32;
  options.moment2_dtype = HTONE_F32;
  return options;
}

htone_sgd_options default_sgd() {
  htone_sgd_options options = {};
  options.struct_size = sizeof options;
  options.compute_dtype = HTONE_F32;
  options.lr = 1e-3;
  options.grad_dtype = HTONE_F32;
  options.moment1_dtype = HTONE_F32;
  return options;
}

// NaN fails every comparison, so it is refused by each of these.
void require_setting(bool holds, const char* field, double value, const char* expected) {
  if (!holds) fail(Code::kInvalidArgument, "options", "options.%s=%g, expected %s", field, value, expected);
}
void require_not_negative(const char* field, double value) {
  require_setting(std::isfinite(value) && value >= 0.0, field, value, "a finite number of at least 0");
}
void require_fraction(const char* field, double value) {
  require_setting(value >= 0.0 && value < 1.0, field, value, "a number in [0, 1)");
}

void require_positive(double value, const char* argument) {
  if (!(value > 0.0)) fail(Code::kInvalidArgument, argument, "%s=%g, expected a number above 0", argument, value);
}

void require_dtype(bool holds, const char* field, htone_dtype dtype, const char* expected) {
  if (holds) return;
  fail(Code::kInvalidArgument, "options", "options.%s=%s, expected %s", field, htone_dtype_name(dtype), expected);
}

// What both optimizers' options say about storage.
template <class Options>
optim::Precision checked_precision(const Options& options) {
  const htone_dtype compute = options.compute_dtype;
  const htone_dtype grad = options.grad_dtype;
  const htone_dtype moment1 = options.moment1_dtype;
  const htone_master_storage master = options.master_storage;
  require_dtype(compute == HTONE_F32 || compute == HTONE_BF16 || compute == HTONE_F16, "compute_dtype", compute,
                "f32, bf16 or f16");
  require_dtype(grad == HTONE_F32 || grad == compute, "grad_dtype", grad, "f32 or compute_dtype");
  require_dtype(moment1 == HTONE_F32 || moment1 == HTONE_BF16 || moment1 == HTONE_I8, "moment1_dtype", moment1,
                "f32, bf16 or i8");
  require_setting(master == HTONE_MASTER_FULL || master == HTONE_MASTER_SPLIT, "master_storage", master,
                  "one of HTONE_MASTER_...");
  require_setting(master == HTONE_MASTER_FULL || compute == HTONE_BF16, "master_storage", master,
                  "HTONE_MASTER_FULL where compute_dtype is not bf16");
  return {.compute_dtype = static_cast<DType>(compute),
          .grad_dtype = static_cast<DType>(grad),
          .moment1_dtype = static_cast<DType>(moment1),
          .splits_master = master == HTONE_MASTER_SPLIT};
}

DType checked_moment2_dtype(htone_dtype dtype) {
  require_dtype(dtype == HTONE_F32 || dtype == HTONE_U8, "moment2_dtype", dtype, "f32 or u8");
  return static_cast<DType>(dtype);
}

AdamwGroup checked_adamw(const htone_adamw_options& options) {
  require_not_negative("lr", options.lr);
  require_fraction("beta1", options.beta1);
  require_fraction("beta2", options.beta2);
  require_setting(std::isfinite(options.epsilon) && options.epsilon > 0.0, "epsilon", options.epsilon,
                  "a finite number above 0");
  require_not_negative("weight_decay", options.weight_decay);
  return {.lr = options.lr,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay};
}

SgdGroup checked_sgd(const htone_sgd_options& options) {
  require_not_negative("lr", options.lr);
  require_fraction("momentum", options.momentum);
  require_setting(options.dampening >= 0.0 && options.dampening <= 1.0, "dampening", options.dampening,
                  "a number in [0, 1]");
  require_not_negative("weight_decay", options.weight_decay);
  if (options.nesterov != 0 && (options.momentum == 0.0 || options.dampening != 0.0)) {
    fail(Code::kInvalidArgument, "options", "options.nesterov=%d needs momentum above 0 and no dampening",
         options.nesterov);
  }
  return {.lr = options.lr,
          .momentum = options.momentum,
          .dampening = options.dampening,
          .weight_decay = options.weight_decay,
          .nesterov = options.nesterov != 0 ? 1 : 0,
          .reserved = 0};
}

std::vector<Ref<Parameter>> parameters_of(const nn::Module& module) {
  std::vector<Ref<Parameter>> parameters;
  for (const nn::NamedParameter& named : module.parameters()) parameters.push_back(named.parameter);
  return parameters;
}

}  // namespace

htone_status htone_adamw_options_init(htone_adamw_options* options) {
  return guard("htone_adamw_options_init(options)", [&] { require(options, "options") = default_adamw(); });
}

htone_status htone_sgd_options_init(htone_sgd_options* options) {
  return guard("htone_sgd_options_init(options)", [&] { require(options, "options") = default_sgd(); });
}

htone_status htone_optimizer_create_adamw(htone_module* module, const htone_adamw_options* options,
                                          htone_optimizer** out) {
  return guard("htone_optimizer_create_adamw(module, options, out)", [&] {
    const nn::Module& model = *unwrap(module, "module");
    const htone_adamw_options given = options_or_default(options, default_adamw());
    optim::Precision precision = checked_precision(given);
    precision.moment2_dtype = checked_moment2_dtype(given.moment2_dtype);
    const AdamwGroup settings = checked_adamw(given);
    require(out, "out");
    wrap(out, make_ref<optim::AdamW>(parameters_of(model), precision, settings));
  });
}

htone_status htone_optimizer_create_sgd(htone_module* module, const htone_sgd_options* options, htone_optimizer** out) {
  return guard("htone_optimizer_create_sgd(module, options, out)", [&] {
    const nn::Module& model = *unwrap(module, "module");
    const htone_sgd_options given = options_or_default(options, default_sgd());
    const optim::Precision precision = checked_precision(given);
    const SgdGroup settings = checked_sgd(given);
    require(out, "out");
    wrap(out, make_ref<optim::Sgd>(parameters_of(model), precision, settings));
  });
}

htone_status htone_optimizer_retain(htone_optimizer* optimizer) {
  return guard("htone_optimizer_retain(optimizer)", [&] { retain_handle(optimizer, "optimizer"); });
}

htone_status htone_optimizer_release(htone_optimizer* optimizer) {
  return guard("htone_optimizer_release(optimizer)", [&] { release_handle(optimizer, "optimizer"); });
}

htone_status htone_optimizer_zero_grad(htone_optimizer* optimizer) {
  return guard("htone_optimizer_zero_grad(optimizer)", [&] { unwrap(optimizer, "optimizer")->zero_grad(); });
}

htone_status htone_optimizer_step(htone_optimizer* optimizer) {
  return guard("htone_optimizer_step(optimizer)", [&] { unwrap(optimizer, "optimizer")->step(); });
}

htone_status htone_optimizer_set_schedule(htone_optimizer* optimizer, htone_schedule* schedule) {
  return guard("htone_optimizer_set_schedule(optimizer, schedule)", [&] {
    optim::Optimizer& target = *unwrap(optimizer, "optimizer");
    target.set_schedule(unwrap(schedule, "schedule")->schedule);
  });
}

htone_status htone_optimizer_lr(htone_optimizer* optimizer, double* out_lr) {
  return guard("htone_optimizer_lr(optimizer, out_lr)", [&] {
    const optim::Optimizer& source = *unwrap(optimizer, "optimizer");
    require(out_lr, "out_lr") = source.lr();
  });
}

htone_status htone_optimizer_step_count(htone_optimizer* optimizer, int64_t* out_count) {
  return guard("htone_optimizer_step_count(optimizer, out_count)", [&] {
    const optim::Optimizer& source = *unwrap(optimizer, "optimizer");
    require(out_count, "out_count") = source.step_count();
  });
}

htone_status htone_optimizer_grad_norm(htone_optimizer* optimizer, double* out_norm) {
  return guard("htone_optimizer_grad_norm(optimizer, out_norm)", [&] {
    optim::Optimizer& source = *unwrap(optimizer, "optimizer");
    require(out_norm, "out_norm");
    *out_norm = source.grad_norm();
  });
}

htone_status htone_optimizer_grad_factor(htone_optimizer* optimizer, double* out_factor) {
  return guard("htone_optimizer_grad_factor(optimizer, out_factor)", [&] {
    const optim::Optimizer& source = *unwrap(optimizer, "optimizer");
    require(out_factor, "out_factor") = source.grad_factor();
  });
}

htone_status htone_optimizer_clip_grad_norm(htone_optimizer* optimizer, double max_norm) {
  return guard("htone_optimizer_clip_grad_norm(optimizer, max_norm)", [&] {
    optim::Optimizer& target = *unwrap(optimizer, "optimizer");
    require_positive(max_norm, "max_norm");
    require_finite(max_norm, "max_norm");
    target.clip_grad_norm(max_norm);
  });
}

htone_status htone_optimizer_set_clip_value(htone_optimizer* optimizer, double value) {
  return guard("htone_optimizer_set_clip_value(optimizer, value)", [&] {
    optim::Optimizer& target = *unwrap(optimizer, "optimizer");
    require_positive(static_cast<float>(value), "value");
    target.set_clip_value(value);
  });
}
