/* Parameters and optimizers. */
#include "calls.h"

htone_status make_parameter(Machine* machine) {
  htone_parameter* made = NULL;
  const char* name = name_in(machine);
  const htone_status status = htone_parameter_create(name, tensor_in(machine), &made);
  return keep(machine, kParameter, status, made);
}

htone_status use_parameter(Machine* machine) {
  const uint8_t choice = byte(machine) % 5;
  htone_parameter* parameter = parameter_in(machine);
  switch (choice) {
    case 0:
      return htone_parameter_set_grad(parameter, tensor_in(machine));
    case 1:
      return htone_parameter_accumulate_grad(parameter, tensor_in(machine));
    case 2:
      return htone_parameter_set_frozen(parameter, flag(machine));
    case 3:
      return htone_parameter_read(parameter, dtype_in(machine), &machine->made[0]);
    default:
      return htone_parameter_tensor(parameter, &machine->made[0]);
  }
}

htone_status make_parameters(Machine* machine) {
  htone_parameters* made = NULL;
  htone_status status;
  const uint8_t choice = byte(machine) % 4;
  if (choice == 0) {
    status = htone_parameters_create(&made);
  } else if (choice == 1) {
    status = htone_parameters_create_from_module(module_in(machine), &made);
  } else {
    htone_parameters* parameters = parameters_in(machine);
    const char* pattern = name_in(machine);
    status = choice == 2 ? htone_parameters_select(parameters, pattern, &made)
                         : htone_parameters_exclude(parameters, pattern, &made);
  }
  return keep(machine, kParameters, status, made);
}

htone_status read_parameters(Machine* machine) {
  char name[16];
  size_t length = 0, count = 0;
  htone_parameter* parameter = NULL;
  htone_parameters* parameters = parameters_in(machine);
  if (flag(machine)) return htone_parameters_add(parameters, parameter_in(machine));
  const size_t index = (size_t)integer(machine);
  htone_parameters_count(parameters, &count);
  htone_parameters_name(parameters, index, name, byte(machine) % (sizeof name + 1), &length);
  const htone_status status = htone_parameters_at(parameters, index, &parameter);
  return keep(machine, kParameter, status, parameter);
}

static void sgd_options_in(Machine* machine, htone_optimizer_options* options) {
  options->momentum = number(machine);
  options->nesterov = flag(machine);
  options->moment1_dtype = dtype_in(machine);
  options->min_8bit_size = byte(machine) % 4;
}

static void adam_options_in(Machine* machine, htone_optimizer_options* options) {
  options->beta1 = number(machine);
  options->moment1_dtype = dtype_in(machine);
  options->min_8bit_size = byte(machine) % 4;
  options->moment2_dtype = dtype_in(machine);
}

static void lion_options_in(Machine* machine, htone_optimizer_options* options) {
  options->weight_decay = number(machine);
  options->moment1_dtype = dtype_in(machine);
  options->min_8bit_size = byte(machine) % 4;
}

static void rmsprop_options_in(Machine* machine, htone_optimizer_options* options) {
  options->alpha = number(machine);
  options->momentum = number(machine);
  options->centered = flag(machine);
  options->moment1_dtype = dtype_in(machine);
  options->min_8bit_size = byte(machine) % 4;
  options->moment2_dtype = dtype_in(machine);
}

static void adafactor_options_in(Machine* machine, htone_optimizer_options* options) {
  options->beta2_decay = -number(machine);
  options->epsilon1 = number(machine);
}

/* Often the settings are those that the kind reads; a byte more may choose one that it does not. */
static htone_status optimizer_options_in(Machine* machine, htone_optimizer_options* options) {
  static void (*const kReaders[])(Machine*, htone_optimizer_options*) = {
      adam_options_in, adam_options_in, sgd_options_in, lion_options_in, rmsprop_options_in, adafactor_options_in};
  const uint8_t kind = byte(machine) % 6;
  const htone_status status = htone_optimizer_options_init((htone_optimizer_kind)(kind + 1), options);
  if (flag(machine)) return status;
  options->lr = number(machine);
  options->compute_dtype = dtype_in(machine);
  options->grad_dtype = dtype_in(machine);
  options->master_storage = byte(machine) % 4;
  kReaders[kind](machine, options);
  if (byte(machine) == 0) options->kind = (htone_optimizer_kind)(byte(machine) % 8);
  return status;
}

htone_status make_optimizer(Machine* machine) {
  htone_optimizer* made = NULL;
  htone_optimizer_options options;
  htone_status status = optimizer_options_in(machine, &options);
  if (status != HTONE_OK) return status;
  status = flag(machine) ? htone_optimizer_create_over(parameters_in(machine), &options, &made)
                         : htone_optimizer_create(module_in(machine), &options, &made);
  return keep(machine, kOptimizer, status, made);
}

htone_status add_group(Machine* machine) {
  htone_optimizer_options options;
  const htone_status status = optimizer_options_in(machine, &options);
  htone_optimizer* optimizer = optimizer_in(machine);
  htone_parameters* parameters = parameters_in(machine);
  return status == HTONE_OK ? htone_optimizer_add_group(optimizer, parameters, &options) : status;
}

static htone_status read_optimizer(Machine* machine, htone_optimizer* optimizer) {
  double value = 0;
  int64_t steps = 0;
  size_t groups = 0;
  htone_optimizer_lr(optimizer, &value);
  htone_optimizer_group_count(optimizer, &groups);
  htone_optimizer_group_lr(optimizer, (size_t)integer(machine), &value);
  htone_optimizer_step_count(optimizer, &steps);
  htone_optimizer_grad_factor(optimizer, &value);
  return htone_optimizer_grad_norm(optimizer, &value);
}

static htone_status set_group_lr(Machine* machine, htone_optimizer* optimizer) {
  const size_t group = byte(machine) % 3;
  return htone_optimizer_set_group_lr(optimizer, group, number(machine));
}

htone_status use_optimizer(Machine* machine) {
  const uint8_t choice = byte(machine) % 7;
  htone_optimizer* optimizer = optimizer_in(machine);
  switch (choice) {
    case 0:
      return htone_optimizer_zero_grad(optimizer);
    case 1:
      return htone_optimizer_clip_grad_norm(optimizer, number(machine), 0);
    case 2:
      return htone_optimizer_set_grad_value_limit(optimizer, number(machine));
    case 3:
      return htone_optimizer_set_schedule(optimizer, schedule_in(machine));
    case 4:
      return set_group_lr(machine, optimizer);
    case 5:
      return read_optimizer(machine, optimizer);
    default:
      return htone_optimizer_step(optimizer);
  }
}

static htone_status create_schedule(Machine* machine, htone_schedule** made) {
  const uint8_t choice = byte(machine) % 4;
  if (choice == 0) return htone_schedule_create_constant(made);
  const int64_t steps = integer(machine);
  const double value = number(machine);
  if (choice == 1) return htone_schedule_create_cosine(steps, value, made);
  if (choice == 2) return htone_schedule_create_step(steps, value, made);
  return htone_schedule_create_warmup(steps, value, schedule_in(machine), made);
}

htone_status make_schedule(Machine* machine) {
  htone_schedule* made = NULL;
  double factor = 0;
  if (flag(machine)) return htone_schedule_factor(schedule_in(machine), integer(machine), &factor);
  const htone_status status = create_schedule(machine, &made);
  return keep(machine, kSchedule, status, made);
}

htone_status make_scaler(Machine* machine) {
  htone_grad_scaler* made = NULL;
  htone_grad_scaler_options options;
  htone_status status = htone_grad_scaler_options_init(&options);
  if (flag(machine)) status = htone_grad_scaler_options_preset(byte(machine) % 5, &options);
  if (status != HTONE_OK) return status;
  if (flag(machine)) {
    options.enabled = flag(machine);
    options.initial_scale = number(machine);
    options.growth_factor = number(machine);
    options.min_scale = number(machine);
    options.growth_interval = integer(machine);
    options.hysteresis = byte(machine) % 4;
    options.at_minimum = byte(machine) % 4;
  }
  status = htone_grad_scaler_create(machine->device, &options, &made);
  return keep(machine, kScaler, status, made);
}

static htone_status change_scaler(Machine* machine, htone_grad_scaler* scaler) {
  htone_scaler_state state = {.struct_size = sizeof state};
  double scale = 0;
  const htone_status status = htone_grad_scaler_state(scaler, &state);
  if (status != HTONE_OK) return status;
  require(htone_grad_scaler_current_scale(scaler, &scale) == HTONE_OK, "what has a state has a scale");
  state.scale = number(machine);
  state.growth_tracker = integer(machine);
  return htone_grad_scaler_set_state(scaler, &state);
}

htone_status use_scaler(Machine* machine) {
  htone_step_outcome outcome = {.struct_size = sizeof outcome};
  const uint8_t choice = byte(machine) % 6;
  htone_grad_scaler* scaler = scaler_in(machine);
  switch (choice) {
    case 0:
      return htone_grad_scaler_scale(scaler, tensor_in(machine), &machine->made[0]);
    case 1:
      return htone_grad_scaler_unscale(scaler, optimizer_in(machine));
    case 2:
      return htone_grad_scaler_step(scaler, optimizer_in(machine));
    case 3:
      return htone_grad_scaler_update(scaler);
    case 4:
      return htone_optimizer_outcome(optimizer_in(machine), &outcome);
    default:
      return change_scaler(machine, scaler);
  }
}

htone_status make_ema(Machine* machine) {
  htone_ema* made = NULL;
  htone_ema_options options;
  htone_status status = htone_ema_options_init(&options);
  if (status != HTONE_OK) return status;
  options.warmup = flag(machine);
  options.decay = number(machine);
  status = htone_ema_create(parameters_in(machine), &options, &made);
  return keep(machine, kEma, status, made);
}

htone_status use_ema(Machine* machine) {
  const uint8_t choice = byte(machine) % 3;
  htone_ema* ema = ema_in(machine);
  if (choice == 0) return htone_ema_update(ema);
  return choice == 1 ? htone_ema_swap(ema) : htone_ema_read(ema, (size_t)integer(machine), &machine->made[0]);
}
