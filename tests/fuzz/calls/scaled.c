/* Scaled tensors. */
#include "calls.h"

htone_status make_scaled(Machine* machine) {
  htone_scaled_options options;
  htone_scaled* made = NULL;
  htone_status status = htone_scaled_options_init(&options);
  if (status != HTONE_OK) return status;
  options.layout = (htone_scale_layout)(byte(machine) % 9);
  options.format = (htone_format)(4 + byte(machine) % 4);
  options.scale_rounds_up = flag(machine);
  options.stochastic = flag(machine);
  options.seed = byte(machine);
  htone_tensor* x = tensor_in(machine);
  htone_tensor* scale = flag(machine) ? tensor_in(machine) : NULL;
  htone_tensor* amax = flag(machine) ? tensor_in(machine) : NULL;
  status = htone_scaled_create(x, &options, scale, amax, &made);
  return keep(machine, kScaled, status, made);
}

htone_status load_scaled(Machine* machine) {
  htone_scaled* made = NULL;
  htone_state_dict* state = state_dict_in(machine);
  if (flag(machine)) htone_state_dict_set_text(state, "a.layout", flag(machine) ? "row e4m3 2x3" : "mx_1x32 e2m1 3");
  const htone_status status = htone_scaled_load(state, name_in(machine), &made);
  return keep(machine, kScaled, status, made);
}

htone_status use_scaled(Machine* machine) {
  int64_t shape[8];
  int32_t ndim = 0;
  const uint8_t choice = byte(machine) % 6;
  htone_scaled* scaled = scaled_in(machine);
  if (choice == 0) return htone_scaled_dequantize(scaled, dtype_in(machine), &machine->made[0]);
  if (choice == 1) return htone_scaled_codes(scaled, &machine->made[0]);
  if (choice == 2) return htone_scaled_scales(scaled, &machine->made[0]);
  if (choice == 3) return htone_scaled_tensor_scale(scaled, &machine->made[0]);
  if (choice == 4) return htone_scaled_shape(scaled, shape, byte(machine) % 9, &ndim);
  htone_state_dict* state = state_dict_in(machine);
  return htone_scaled_save(scaled, state, name_in(machine));
}
