/* Operations that compute several in one: linear layers with an activation, and attention; roundings and sums in
 * formats. */
#include "calls.h"

htone_status call_layer(Machine* machine) {
  const int is_first = flag(machine);
  const htone_activation activation = (htone_activation)integer(machine);
  htone_tensor *input = tensor_in(machine), *weight = tensor_in(machine), *bias = tensor_in(machine);
  return is_first ? htone_activation_linear(input, weight, bias, activation, &machine->made[0])
                  : htone_linear_activation(input, weight, bias, activation, &machine->made[0]);
}

htone_status call_attention(Machine* machine) {
  htone_tensor *q = tensor_in(machine), *k = tensor_in(machine), *v = tensor_in(machine), *mask = tensor_in(machine);
  htone_attention_options options;
  const htone_status status = htone_attention_options_init(&options);
  if (status != HTONE_OK) return status;
  if (flag(machine)) {
    options.causal = flag(machine);
    options.causal_offset = integer(machine);
    options.scale = number(machine);
    options.dropout = number(machine);
  }
  return htone_scaled_dot_product_attention(q, k, v, mask, &options, &machine->made[0]);
}

htone_status call_round(Machine* machine) {
  double sum;
  htone_format_info info = HTONE_FORMAT_INFO_INIT;
  htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
  const uint8_t choice = byte(machine) % 4;
  htone_tensor* input = tensor_in(machine);
  const htone_format format = (htone_format)(byte(machine) % 11);
  htone_round_options options;
  const htone_status status = htone_round_options_init(&options);
  if (status != HTONE_OK) return status;
  if (flag(machine)) {
    options.rounding = (htone_rounding)(byte(machine) % 7);
    options.overflow = (htone_overflow)(byte(machine) % 4);
    options.exponent_bits = byte(machine) % 10;
    options.mantissa_bits = byte(machine) % 25;
    options.seed = byte(machine);
  }
  if (choice == 0) return htone_sum_in(input, format, (htone_sum_method)(byte(machine) % 7), &sum);
  if (choice == 1) return htone_analyze_rounding(input, format, &options, &errors);
  if (choice == 2) return htone_format_describe(format, &options, &info);
  return htone_round_to(input, format, &options, &machine->made[0]);
}
