/* Operations that compute with elements. */
#include "calls.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef htone_status (*UnaryFn)(htone_tensor*, htone_tensor**);
typedef htone_status (*BinaryFn)(htone_tensor*, htone_tensor*, htone_tensor**);
typedef htone_status (*TernaryFn)(htone_tensor*, htone_tensor*, htone_tensor*, htone_tensor**);
typedef htone_status (*ReduceFn)(htone_tensor*, int32_t, const int64_t*, int32_t, htone_tensor**);
typedef htone_status (*AlongFn)(htone_tensor*, int64_t, htone_tensor**);
typedef htone_status (*ArgFn)(htone_tensor*, int64_t, int32_t, htone_tensor**);
typedef htone_status (*ExtremeFn)(htone_tensor*, int64_t, int32_t, htone_tensor**, htone_tensor**);
typedef htone_status (*LossFn)(htone_tensor*, htone_tensor*, htone_reduction, htone_tensor**);

htone_status call_unary(Machine* machine) {
  static const UnaryFn functions[] = {
      htone_relu,        htone_tensor_detach, htone_tensor_grad, htone_exp,         htone_log,        htone_sqrt,
      htone_rsqrt,       htone_abs,           htone_reciprocal,  htone_neg,         htone_sin,        htone_cos,
      htone_sigmoid,     htone_tanh,          htone_silu,        htone_softplus,    htone_is_nan,     htone_is_finite,
      htone_logical_not, htone_is_inf,        htone_trunc,       htone_tan,         htone_log2,       htone_log10,
      htone_hardswish,   htone_mish,          htone_selu,        htone_log_sigmoid, htone_bitwise_not};
  const UnaryFn function = functions[byte(machine) % COUNT(functions)];
  return function(tensor_in(machine), &machine->made[0]);
}

static htone_status mean_cross_entropy(htone_tensor* logits, htone_tensor* targets, htone_tensor** out) {
  return htone_cross_entropy(logits, targets, NULL, out);
}

htone_status call_binary(Machine* machine) {
  static const BinaryFn functions[] = {
      htone_add,         htone_sub,        htone_mul,         htone_div,          htone_matmul,      mean_cross_entropy,
      htone_accuracy,    htone_maximum,    htone_minimum,     htone_pow,          htone_eq,          htone_ne,
      htone_lt,          htone_le,         htone_gt,          htone_ge,           htone_logical_and, htone_logical_or,
      htone_logical_xor, htone_fmod,       htone_remainder,   htone_floor_divide, htone_atan2,       htone_logaddexp,
      htone_bitwise_and, htone_bitwise_or, htone_bitwise_xor, htone_prelu};
  const BinaryFn function = functions[byte(machine) % COUNT(functions)];
  htone_tensor* a = tensor_in(machine);
  return function(a, tensor_in(machine), &machine->made[0]);
}

htone_status call_ternary(Machine* machine) {
  static const TernaryFn functions[] = {htone_where, htone_linear, htone_lerp};
  const uint8_t choice = byte(machine) % 5;
  htone_tensor *a = tensor_in(machine), *b = tensor_in(machine), *c = tensor_in(machine);
  if (choice == 3) return htone_addcmul(a, b, c, number(machine), &machine->made[0]);
  if (choice == 4) return htone_addcdiv(a, b, c, number(machine), &machine->made[0]);
  return functions[choice](a, b, c, &machine->made[0]);
}

/* Operations of one or two tensors and numbers. */
htone_status call_numbers(Machine* machine) {
  const uint8_t choice = byte(machine) % 5;
  htone_tensor* a = tensor_in(machine);
  if (choice == 0) return htone_glu(a, integer(machine), &machine->made[0]);
  const double first = number(machine), second = number(machine);
  if (choice == 1) return htone_nan_to_num(a, first, second, number(machine), &machine->made[0]);
  htone_tensor* b = tensor_in(machine);
  if (choice == 2) return htone_lerp_scalar(a, b, first, &machine->made[0]);
  if (choice == 3) return htone_is_close(a, b, first, second, flag(machine), &machine->made[0]);
  int32_t is_close = 0;
  return htone_all_close(a, b, first, second, flag(machine), &is_close);
}

htone_status call_reduce(Machine* machine) {
  static const ReduceFn functions[] = {htone_sum, htone_mean, htone_amax,       htone_amin,
                                       htone_any, htone_all,  htone_log_sum_exp};
  const ReduceFn function = functions[byte(machine) % COUNT(functions)];
  htone_tensor* input = tensor_in(machine);
  const int64_t dims[] = {integer(machine), integer(machine), integer(machine)};
  const uint8_t count = byte(machine);
  return function(input, count == 0xff ? -1 : count % 4, dims, flag(machine), &machine->made[0]);
}

htone_status call_along(Machine* machine) {
  static const AlongFn functions[] = {htone_softmax, htone_log_softmax, htone_cumsum};
  static const ArgFn places[] = {htone_argmax, htone_argmin};
  static const ExtremeFn extremes[] = {htone_max_dim, htone_min_dim};
  const uint8_t choice = byte(machine);
  htone_tensor* input = tensor_in(machine);
  const int64_t dim = integer(machine);
  if (choice % 3 == 0) return functions[choice / 3 % COUNT(functions)](input, dim, &machine->made[0]);
  const int32_t keepdim = flag(machine);
  if (choice % 3 == 1) return places[choice / 3 % 2](input, dim, keepdim, &machine->made[0]);
  return extremes[choice / 3 % 2](input, dim, keepdim, &machine->made[0], &machine->made[1]);
}

htone_status call_convert(Machine* machine) {
  const uint8_t choice = byte(machine) % 6;
  htone_tensor* input = tensor_in(machine);
  if (choice == 0) return htone_cast(input, dtype_in(machine), &machine->made[0]);
  if (choice == 1) return htone_gelu(input, byte(machine) % 4, &machine->made[0]);
  const double value = number(machine);
  if (choice == 2) return htone_pow_scalar(input, value, &machine->made[0]);
  if (choice == 3) return htone_clamp(input, value, number(machine), &machine->made[0]);
  if (choice == 4) return htone_dropout(input, value, flag(machine), &machine->made[0]);
  return htone_rescale(input, value, number(machine), &machine->made[0]);
}

static htone_status call_classes_loss(Machine* machine, htone_tensor* input, htone_tensor* target,
                                      htone_reduction reduction) {
  const int is_nll = flag(machine);
  htone_tensor* weight = flag(machine) ? tensor_in(machine) : NULL;
  if (is_nll) return htone_nll_loss(input, target, weight, integer(machine), reduction, &machine->made[0]);
  htone_cross_entropy_options options;
  htone_status status = htone_cross_entropy_options_init(&options);
  if (status != HTONE_OK) return status;
  options.reduction = reduction;
  options.ignore_index = integer(machine);
  options.label_smoothing = number(machine);
  options.weight = weight;
  return htone_cross_entropy(input, target, &options, &machine->made[0]);
}

static htone_status call_gaussian_loss(Machine* machine, htone_tensor* input, htone_tensor* target,
                                       htone_reduction reduction) {
  htone_tensor* variance = tensor_in(machine);
  const int32_t full = flag(machine);
  return htone_gaussian_nll_loss(input, target, variance, full, number(machine), reduction, &machine->made[0]);
}

htone_status call_loss(Machine* machine) {
  static const LossFn functions[] = {htone_mse_loss, htone_l1_loss};
  const uint8_t choice = byte(machine) % 9;
  htone_tensor *input = tensor_in(machine), *target = tensor_in(machine);
  const htone_reduction reduction = byte(machine) % 6 - 1;
  switch (choice) {
    case 0:
    case 1:
      return functions[choice](input, target, reduction, &machine->made[0]);
    case 2:
      return htone_smooth_l1_loss(input, target, number(machine), reduction, &machine->made[0]);
    case 3:
      return htone_kl_div(input, target, flag(machine), reduction, &machine->made[0]);
    case 4:
      return htone_bce_with_logits(input, target, flag(machine) ? tensor_in(machine) : NULL, reduction,
                                   &machine->made[0]);
    case 6:
      return htone_huber_loss(input, target, number(machine), reduction, &machine->made[0]);
    case 7:
      return htone_bce_loss(input, target, flag(machine) ? tensor_in(machine) : NULL, reduction, &machine->made[0]);
    case 8:
      return call_gaussian_loss(machine, input, target, reduction);
    default:
      return call_classes_loss(machine, input, target, reduction);
  }
}

/* A common product, or any 12 characters that an equation may contain. */
htone_status call_einsum(Machine* machine) {
  static const char* const equations[] = {"ij,jk->ik", "bij,bkj->bik", "ij,ij->", "abc,cd->abd"};
  static const char letters[16] = "ijkbaA,,-->>. 1";
  char text[13] = {0};
  const char* equation = text;
  const uint8_t choice = byte(machine);
  if (choice % 2 == 0) {
    equation = equations[choice / 2 % COUNT(equations)];
  } else {
    for (unsigned i = 0; i < choice / 2u % sizeof text; ++i) text[i] = letters[byte(machine) % 15];
  }
  htone_tensor* a = tensor_in(machine);
  return htone_einsum(equation, a, flag(machine) ? NULL : tensor_in(machine), &machine->made[0]);
}
