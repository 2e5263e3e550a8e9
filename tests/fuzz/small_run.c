#include "small_run.h"

#include "memory_files.h"

SmallRun open_small_run(void) {
  const int64_t shape[] = {2, 3};
  SmallRun run = {0};
  htone_context* context = NULL;
  htone_device* device = memory_device(&context);
  require(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1, &run.tensor) == HTONE_OK, "a tensor");
  require(htone_state_dict_create(&run.tensors) == HTONE_OK, "a state dict");
  require(htone_state_dict_add(run.tensors, "w", run.tensor) == HTONE_OK, "a tensor in the state dict");
  require(htone_checkpoint_create(context, "run", &run.checkpoint) == HTONE_OK, "a checkpoint");
  require(htone_checkpoint_add_state_dict(run.checkpoint, "s", run.tensors) == HTONE_OK, "a part");
  return run;
}

void close_small_run(SmallRun* run) {
  htone_checkpoint_release(run->checkpoint);
  htone_state_dict_release(run->tensors);
  htone_tensor_release(run->tensor);
}
