/* State dicts, files, samplers and checkpoints. */
#include "calls.h"

static htone_status create_state_dict(Machine* machine, htone_state_dict** made) {
  const uint8_t choice = byte(machine) % 4;
  if (choice == 0) return htone_state_dict_create(made);
  htone_module* module = module_in(machine);
  if (choice == 1) return htone_module_state_dict(module, made);
  htone_state_dict* tensors = state_dict_in(machine);
  return choice == 2 ? htone_module_missing_state(module, tensors, made)
                     : htone_module_unexpected_state(module, tensors, made);
}

htone_status make_state_dict(Machine* machine) {
  htone_state_dict* made = NULL;
  const htone_status status = create_state_dict(machine, &made);
  return keep(machine, kStateDict, status, made);
}

static htone_status read_state_dict(Machine* machine, htone_state_dict* tensors) {
  char name[16];
  size_t length = 0, count = 0;
  const size_t index = (size_t)integer(machine);
  htone_state_dict_count(tensors, &count);
  htone_state_dict_name(tensors, index, name, byte(machine) % (sizeof name + 1), &length);
  return htone_state_dict_tensor(tensors, index, &machine->made[0]);
}

htone_status use_state_dict(Machine* machine) {
  const uint8_t choice = byte(machine) % 4;
  htone_state_dict* tensors = state_dict_in(machine);
  if (choice == 0) return read_state_dict(machine, tensors);
  if (choice == 1) return htone_safetensors_save(machine->context, path_in(machine), tensors);
  const char* name = name_in(machine);
  return choice == 2 ? htone_state_dict_find(tensors, name, &machine->made[0])
                     : htone_state_dict_add(tensors, name, tensor_in(machine));
}

/* Loads into a module, or from a file. */
htone_status load_state_dict(Machine* machine) {
  htone_load_options options;
  htone_state_dict* made = NULL;
  if (flag(machine)) {
    const htone_status status = htone_safetensors_load(machine->device, path_in(machine), &made);
    return keep(machine, kStateDict, status, made);
  }
  const htone_status status = htone_load_options_init(&options);
  if (status != HTONE_OK) return status;
  options.strict = flag(machine);
  htone_module* module = module_in(machine);
  return htone_module_load_state_dict(module, state_dict_in(machine), &options);
}

static htone_status make_batches(Machine* machine) {
  htone_batches* made = NULL;
  htone_tensor* tensors[2];
  htone_sampler* sampler = sampler_in(machine);
  const size_t count = byte(machine) % 3;
  for (size_t i = 0; i < 2; ++i) tensors[i] = i < count ? tensor_in(machine) : NULL;
  const htone_status status = htone_batches_create(sampler, count, tensors, &made);
  return keep(machine, kBatches, status, made);
}

htone_status make_sampler(Machine* machine) {
  htone_sampler* made = NULL;
  htone_sampler_options options;
  if (flag(machine)) return make_batches(machine);
  htone_status status = htone_sampler_options_init(&options);
  if (status != HTONE_OK) return status;
  options.shuffle = flag(machine);
  options.count = size_in(machine);
  options.batch_size = size_in(machine);
  options.drop_last = flag(machine);
  options.rank = (int32_t)(byte(machine) % 4) - 1;
  options.world_size = byte(machine) % 4;
  status = htone_sampler_create(&options, &made);
  return keep(machine, kSampler, status, made);
}

htone_status use_sampler(Machine* machine) {
  int64_t indices[8], epoch = 0, batch = 0, count = 0;
  size_t taken = 0;
  const uint8_t choice = byte(machine) % 3;
  if (choice == 0) return htone_batches_next(batches_in(machine));
  if (choice == 1) {
    htone_batches* batches = batches_in(machine);
    return htone_batches_tensor(batches, byte(machine) % 3, &machine->made[0]);
  }
  htone_sampler* sampler = sampler_in(machine);
  htone_sampler_position(sampler, &epoch, &batch);
  htone_sampler_batches_per_epoch(sampler, &count);
  return htone_sampler_next(sampler, indices, byte(machine) % 9, &taken);
}

htone_status make_checkpoint(Machine* machine) {
  htone_checkpoint* made = NULL;
  const htone_status status = htone_checkpoint_create(machine->context, path_in(machine), &made);
  return keep(machine, kCheckpoint, status, made);
}

htone_status add_to_checkpoint(Machine* machine) {
  const uint8_t choice = byte(machine) % 6;
  htone_checkpoint* checkpoint = checkpoint_in(machine);
  const char* name = name_in(machine);
  switch (choice) {
    case 0:
      return htone_checkpoint_add_module(checkpoint, name, module_in(machine));
    case 1:
      return htone_checkpoint_add_optimizer(checkpoint, name, optimizer_in(machine));
    case 2:
      return htone_checkpoint_add_grad_scaler(checkpoint, name, scaler_in(machine));
    case 3:
      return htone_checkpoint_add_sampler(checkpoint, name, sampler_in(machine));
    case 5:
      return htone_checkpoint_add_ema(checkpoint, name, ema_in(machine));
    default:
      return htone_checkpoint_add_state_dict(checkpoint, name, state_dict_in(machine));
  }
}

htone_status use_checkpoint(Machine* machine) {
  int64_t step = 0;
  const uint8_t choice = byte(machine) % 5;
  htone_checkpoint* checkpoint = checkpoint_in(machine);
  if (choice < 2) return htone_checkpoint_save(checkpoint, integer(machine));
  if (choice == 2) return htone_checkpoint_load(checkpoint, &step);
  return choice == 3 ? htone_checkpoint_latest(checkpoint, &step)
                     : htone_checkpoint_verify(checkpoint, integer(machine));
}
