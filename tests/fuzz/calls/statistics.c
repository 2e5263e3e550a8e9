/* Records of runs. */
#include "calls.h"

htone_status make_statistics(Machine* machine) {
  htone_statistics_options options;
  htone_statistics* made = NULL;
  htone_status status = htone_statistics_options_init(&options);
  if (status != HTONE_OK) return status;
  if (flag(machine)) options.capacity = integer(machine);
  if (flag(machine)) options.spike_window = byte(machine);
  if (flag(machine)) options.spike_deviations = number(machine);
  if (flag(machine)) options.label = name_in(machine);
  status = htone_statistics_create(machine->device, &options, &made);
  return keep(machine, kStatistics, status, made);
}

htone_status record_step(Machine* machine) {
  const uint8_t choice = byte(machine) % 6;
  htone_statistics* statistics = statistics_in(machine);
  if (choice < 2) return htone_statistics_begin_step(statistics);
  if (choice == 2) return htone_statistics_begin_part(statistics, (htone_step_part)(byte(machine) % 6));
  if (choice == 3) return htone_statistics_cancel_step(statistics);
  const double loss = number(machine);
  return htone_statistics_end_step(statistics, loss, integer(machine));
}

static htone_status read_statistics(Machine* machine, htone_statistics* statistics) {
  htone_step_record record = HTONE_STEP_RECORD_INIT;
  htone_run_summary summary = HTONE_RUN_SUMMARY_INIT;
  htone_spike spike = HTONE_SPIKE_INIT;
  const uint8_t choice = byte(machine) % 3;
  if (choice == 0) return htone_statistics_summary(statistics, &summary);
  if (choice == 1) return htone_statistics_last_spike(statistics, &spike);
  return htone_statistics_step(statistics, flag(machine) ? 1 : integer(machine), &record);
}

static htone_status add_event(Machine* machine, htone_statistics* statistics) {
  const uint8_t choice = byte(machine) % 3;
  if (choice == 0) return htone_statistics_add_evaluation(statistics, number(machine));
  if (choice == 1) return htone_statistics_add_checkpoint(statistics);
  return htone_statistics_add_fallback(statistics, name_in(machine), "fp16", "fp32");
}

static htone_status watch(Machine* machine, htone_statistics* statistics) {
  htone_monitor_options options = HTONE_MONITOR_OPTIONS_INIT;
  htone_module* module = module_in(machine);
  const uint8_t parts = byte(machine);
  options.interval = flag(machine) ? 1 : byte(machine);
  options.parameters = parts & 1;
  options.gradients = parts & 2;
  options.activations = parts & 4;
  options.noise = parts & 8;
  return htone_statistics_watch(statistics, module, parts & 16 ? NULL : optimizer_in(machine), &options);
}

static htone_status read_sampled(Machine* machine, htone_statistics* statistics) {
  htone_tensor_statistics tensor = HTONE_TENSOR_STATISTICS_INIT;
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  const size_t index = byte(machine) % 40;
  if (flag(machine)) return htone_statistics_tensor_histogram(statistics, index, &histogram);
  return htone_statistics_tensor(statistics, index, &tensor);
}

htone_status use_statistics(Machine* machine) {
  const uint8_t choice = byte(machine) % 8;
  htone_statistics* statistics = statistics_in(machine);
  if (choice == 0) return htone_statistics_set_step_count(statistics, integer(machine));
  if (choice == 1) return htone_statistics_write_to(statistics, path_in(machine));
  if (choice == 2) return htone_statistics_flush(statistics);
  if (choice == 3) return add_event(machine, statistics);
  if (choice == 4) return read_statistics(machine, statistics);
  if (choice == 5) return watch(machine, statistics);
  if (choice == 6) return read_sampled(machine, statistics);
  htone_optimizer* optimizer = flag(machine) ? optimizer_in(machine) : NULL;
  return htone_statistics_set_optimizer(statistics, optimizer, flag(machine) ? scaler_in(machine) : NULL);
}
