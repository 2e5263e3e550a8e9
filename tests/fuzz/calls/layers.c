/* Convolutions, pools, norms, and the modules. */
#include "calls.h"

typedef htone_status (*ConvFn)(htone_tensor*, htone_tensor*, htone_tensor*, const htone_conv_options*, htone_tensor**);
typedef htone_status (*Pool1dFn)(htone_tensor*, int64_t, const htone_pool_options*, htone_tensor**);
typedef htone_status (*Pool2dFn)(htone_tensor*, int64_t, int64_t, const htone_pool_options*, htone_tensor**);
typedef htone_status (*PlainFn)(htone_module**);

static htone_status conv_options_in(Machine* machine, htone_conv_options* options) {
  const htone_status status = htone_conv_options_init(options);
  if (status != HTONE_OK || flag(machine)) return status;
  options->stride_h = integer(machine);
  options->stride_w = integer(machine);
  options->padding_h = integer(machine);
  options->padding_w = integer(machine);
  options->dilation_w = integer(machine);
  options->output_padding_w = integer(machine);
  options->groups = integer(machine);
  options->bias = flag(machine);
  return status;
}

static htone_status pool_options_in(Machine* machine, htone_pool_options* options) {
  const htone_status status = htone_pool_options_init(options);
  if (status != HTONE_OK || flag(machine)) return status;
  options->stride_h = integer(machine);
  options->stride_w = integer(machine);
  options->padding_w = integer(machine);
  options->dilation_h = integer(machine);
  options->count_include_pad = flag(machine);
  return status;
}

htone_status call_conv(Machine* machine) {
  static const ConvFn functions[] = {htone_conv1d, htone_conv2d, htone_conv_transpose1d, htone_conv_transpose2d};
  const ConvFn function = functions[byte(machine) % 4];
  htone_tensor *input = tensor_in(machine), *weight = tensor_in(machine), *bias = tensor_in(machine);
  htone_conv_options options;
  const htone_status status = conv_options_in(machine, &options);
  return status != HTONE_OK ? status : function(input, weight, bias, &options, &machine->made[0]);
}

htone_status call_pool(Machine* machine) {
  static const Pool1dFn lines[] = {htone_max_pool1d, htone_avg_pool1d};
  static const Pool2dFn images[] = {htone_max_pool2d, htone_avg_pool2d};
  const uint8_t choice = byte(machine) % 6;
  htone_tensor* input = tensor_in(machine);
  const int64_t width = integer(machine), height = integer(machine);
  if (choice == 4) return htone_adaptive_avg_pool1d(input, width, &machine->made[0]);
  if (choice == 5) return htone_adaptive_avg_pool2d(input, height, width, &machine->made[0]);
  htone_pool_options options;
  const htone_status status = pool_options_in(machine, &options);
  if (status != HTONE_OK) return status;
  return choice < 2 ? lines[choice](input, width, &options, &machine->made[0])
                    : images[choice - 2](input, height, width, &options, &machine->made[0]);
}

htone_status call_norm(Machine* machine) {
  int64_t shape[kMaxDims];
  const uint8_t choice = byte(machine) % 4;
  htone_tensor *input = tensor_in(machine), *weight = tensor_in(machine), *bias = tensor_in(machine);
  const double epsilon = number(machine);
  if (choice == 0) return htone_group_norm(input, integer(machine), weight, bias, epsilon, &machine->made[0]);
  if (choice == 1) {
    htone_tensor *mean = tensor_in(machine), *variance = tensor_in(machine);
    const int32_t training = flag(machine);
    return htone_batch_norm(input, mean, variance, weight, bias, training, number(machine), epsilon, &machine->made[0]);
  }
  const int32_t ndim = shape_in(machine, shape);
  if (choice == 2) return htone_rms_norm(input, ndim, shape, weight, epsilon, &machine->made[0]);
  return htone_layer_norm(input, ndim, shape, weight, bias, epsilon, &machine->made[0]);
}

static htone_status make_linear(Machine* machine, int64_t in, int64_t out, htone_module** made) {
  htone_linear_options options;
  const htone_status status = htone_linear_options_init(&options);
  if (status != HTONE_OK) return status;
  options.bias = flag(machine);
  if (flag(machine)) options.dtype = dtype_in(machine);
  return htone_module_create_linear(machine->device, in, out, &options, made);
}

static htone_status make_batch_norm(Machine* machine, int64_t channels, htone_module** made) {
  htone_batch_norm_options options;
  const htone_status status = htone_batch_norm_options_init(&options);
  if (status != HTONE_OK) return status;
  options.affine = flag(machine);
  options.track_running_stats = flag(machine);
  options.cumulative = flag(machine);
  if (flag(machine)) options.momentum = number(machine);
  return flag(machine) ? htone_module_create_batch_norm1d(machine->device, channels, &options, made)
                       : htone_module_create_batch_norm2d(machine->device, channels, &options, made);
}

static htone_status create_module(Machine* machine, htone_module** made) {
  const uint8_t choice = byte(machine) % 6;
  const int64_t in = size_in(machine), out = size_in(machine);
  switch (choice) {
    case 0:
      return make_linear(machine, in, out, made);
    case 1:
      return make_batch_norm(machine, in, made);
    case 2:
      return htone_module_create_layer_norm(machine->device, 1, &in, NULL, made);
    case 3:
      return htone_module_create_rms_norm(machine->device, 1, &in, NULL, made);
    case 4:
      return htone_module_create_group_norm(machine->device, in, out, NULL, made);
    default:
      return htone_module_create_embedding(machine->device, in, out, NULL, made);
  }
}

htone_status make_module(Machine* machine) {
  htone_module* made = NULL;
  const htone_status status = create_module(machine, &made);
  return keep(machine, kModule, status, made);
}

htone_status make_conv_module(Machine* machine) {
  htone_module* made = NULL;
  htone_conv_options options;
  const uint8_t choice = byte(machine) % 3;
  const int64_t in = size_in(machine), out = size_in(machine), height = size_in(machine), width = size_in(machine);
  htone_status status = conv_options_in(machine, &options);
  if (status != HTONE_OK) return status;
  status = choice == 0 ? htone_module_create_conv1d(machine->device, in, out, width, &options, &made)
           : choice == 1
               ? htone_module_create_conv2d(machine->device, in, out, height, width, &options, &made)
               : htone_module_create_conv_transpose2d(machine->device, in, out, height, width, &options, &made);
  return keep(machine, kModule, status, made);
}

static htone_status create_pool(Machine* machine, uint8_t choice, htone_module** made) {
  const int64_t height = integer(machine), width = integer(machine);
  if (choice == 0) return htone_module_create_adaptive_avg_pool2d(height, width, made);
  return choice == 1 ? htone_module_create_max_pool2d(height, width, NULL, made)
                     : htone_module_create_avg_pool2d(height, width, NULL, made);
}

/* Modules without parameters. */
htone_status make_plain_module(Machine* machine) {
  static const PlainFn functions[] = {htone_module_create_relu, htone_module_create_silu, htone_module_create_sigmoid,
                                      htone_module_create_tanh, htone_module_create_flatten};
  htone_module* made = NULL;
  htone_status status;
  const uint8_t choice = byte(machine) % 11;
  if (choice < 5) {
    status = functions[choice](&made);
  } else if (choice < 8) {
    status = create_pool(machine, choice - 5, &made);
  } else if (choice == 8) {
    status = htone_module_create_gelu(byte(machine) % 4, &made);
  } else if (choice == 9) {
    status = htone_module_create_dropout(number(machine), &made);
  } else {
    const double scale = number(machine);
    status = htone_module_create_rescaling(scale, number(machine), &made);
  }
  return keep(machine, kModule, status, made);
}

htone_status join_modules(Machine* machine) {
  htone_module* made = NULL;
  htone_module* parts[3];
  const size_t count = byte(machine) % 4;
  for (size_t i = 0; i < 3; ++i) parts[i] = i < count ? module_in(machine) : NULL;
  const htone_status status = htone_module_create_sequential(count, parts, &made);
  return keep(machine, kModule, status, made);
}

htone_status use_module(Machine* machine) {
  const uint8_t choice = byte(machine) % 4;
  htone_module* module = module_in(machine);
  if (choice == 0) return htone_module_set_training(module, flag(machine));
  htone_tensor* input = tensor_in(machine);
  return htone_module_forward(module, input, choice == 1 ? policy_in(machine) : NULL, &machine->made[0]);
}

static htone_status read_parameter_of(Machine* machine, htone_module* module, size_t index) {
  char name[16];
  size_t length = 0;
  htone_parameter* parameter = NULL;
  htone_module_parameter_name(module, index, name, byte(machine) % (sizeof name + 1), &length);
  const htone_status status = htone_module_parameter(module, index, &parameter);
  return keep(machine, kParameter, status, parameter);
}

htone_status read_module(Machine* machine) {
  char name[16];
  size_t length = 0, count = 0;
  int32_t training = 0;
  htone_module* module = module_in(machine);
  const size_t index = (size_t)integer(machine);
  htone_module_parameter_count(module, &count);
  htone_module_buffer_count(module, &count);
  htone_module_is_training(module, &training);
  if (flag(machine)) return read_parameter_of(machine, module, index);
  htone_module_buffer_name(module, index, name, byte(machine) % (sizeof name + 1), &length);
  return htone_module_buffer(module, index, &machine->made[0]);
}
