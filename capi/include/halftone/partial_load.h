/** @file
 * Loads of a checkpoint into optimizers that hold other parameters than the saved ones, as after layers were frozen,
 * unfrozen or added, or that keep the settings of the program.
 *
 * @code
 * htone_checkpoint* checkpoint;
 * htone_optimizer_load_options options = HTONE_OPTIMIZER_LOAD_OPTIONS_INIT;
 * size_t fresh;
 * options.strict = 0;
 * options.keep_settings = 1;
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * check(htone_checkpoint_create(context, "partial", &checkpoint));
 * check(htone_checkpoint_add_module(checkpoint, "model", model));
 * check(htone_checkpoint_add_optimizer(checkpoint, "optimizer", optimizer));
 * check(htone_checkpoint_save(checkpoint, 100));
 * check(htone_checkpoint_load_with(checkpoint, &options, &count));
 * check(htone_checkpoint_loaded_count(checkpoint, HTONE_LOAD_FRESH, &fresh));
 * assert(count == 100 && fresh == 0);
 * @endcode
 */
#ifndef HALFTONE_PARTIAL_LOAD_H
#define HALFTONE_PARTIAL_LOAD_H

#include "halftone/checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of htone_checkpoint_load_with, for all optimizers of the checkpoint. */
typedef struct htone_optimizer_load_options {
  uint32_t struct_size;  /**< sizeof of this structure */
  int32_t strict;        /**< not 0: an optimizer has the saved parameters and groups in the saved order; default 1 */
  int32_t keep_settings; /**< not 0: groups keep lr and their other settings, a plateau schedule its state; default 0 */
  uint32_t reserved;     /**< 0 */
} htone_optimizer_load_options;

/** The defaults, to initialize a htone_optimizer_load_options where it is declared. */
#define HTONE_OPTIMIZER_LOAD_OPTIONS_INIT \
  { sizeof(htone_optimizer_load_options), 1, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_optimizer_load_options_init(htone_optimizer_load_options* options);

/** Loads as htone_checkpoint_load does, with settings for the optimizers. Without strict the moments of a parameter are
 * found by its name. Parameters that the checkpoint has no moments of begin with moments of zeros, and moments of
 * other parameters are left out. The kind of optimizer, the storage of moments, and the shapes must fit in any case,
 * and no two parameters of an optimizer may have one name. Where the number of groups differs, the settings cannot be
 * loaded: keep_settings is required then. The count of steps is always loaded. A parameter without saved
 * moments begins its bias correction anew.
 *
 * @param[in] checkpoint borrowed; no other thread may use the added parts meanwhile. All ranks give the same options.
 * @param[in] options optional; NULL means the defaults, which are those of htone_checkpoint_load.
 * @param[out] out_step as in htone_checkpoint_load.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, FORMAT, UNSUPPORTED, STATE, IO, DEVICE, OUT_OF_MEMORY; for ranks of a group
 *   also COMM, PEER_LOST, TIMEOUT: as htone_checkpoint_load.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_load_with(htone_checkpoint* checkpoint,
                                                  const htone_optimizer_load_options* options, int64_t* out_step);

/** The outcome of a load for a parameter with moments. */
typedef enum htone_load_outcome {
  HTONE_LOAD_DONE = 1,                     /**< its moments were loaded */
  HTONE_LOAD_FRESH = 2,                    /**< the checkpoint has none, so they are zeros */
  HTONE_LOAD_UNUSED = 3,                   /**< the checkpoint has moments of it, and no optimizer has it */
  HTONE_LOAD_OUTCOME_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_load_outcome;

/** Returns how many parameters of optimizers had an outcome in the last load that succeeded; 0 before it.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] outcome a HTONE_LOAD_....
 * @param[out] out_count the number of parameters.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_loaded_count(htone_checkpoint* checkpoint, htone_load_outcome outcome,
                                                     size_t* out_count);

/** Returns the name of one of these parameters: that of the optimizer in the checkpoint, a slash, its own.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] outcome a HTONE_LOAD_....
 * @param[in] index below the count.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also where the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_loaded_name(htone_checkpoint* checkpoint, htone_load_outcome outcome,
                                                    size_t index, char* out_name, size_t capacity, size_t* out_length);

/** Returns the state of an optimizer: moments as tensors, the count of steps and the settings of its groups as texts
 * (safetensors.h). htone_safetensors_save keeps both.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out copies of the moments, which later steps do not change: as much memory as the moments. A checkpoint
 *   saves an optimizer without copies. Owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (between unscale and step), IO, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_state_dict(htone_optimizer* optimizer, htone_state_dict** out);

/** Loads the state of an optimizer, all of it or nothing.
 *
 * @param[in] optimizer borrowed; no other thread may use it meanwhile.
 * @param[in] state_dict of htone_optimizer_state_dict, or a file that was saved from one; borrowed.
 * @param[in] options optional; NULL means the defaults. As in htone_checkpoint_load_with.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (options of a newer version), FORMAT (it does not fit the
 *   optimizer), STATE (between unscale and step), IO, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_load_state_dict(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                                       const htone_optimizer_load_options* options);

/** Returns how many parameters would have an outcome in a load by name.
 *
 * @param[in] optimizer borrowed.
 * @param[in] state_dict as in htone_optimizer_load_state_dict; borrowed.
 * @param[in] outcome a HTONE_LOAD_....
 * @param[out] out_count the number of parameters.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_match_count(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                                   htone_load_outcome outcome, size_t* out_count);

/** Returns the name of one of these parameters.
 *
 * @param[in] optimizer borrowed.
 * @param[in] state_dict as in htone_optimizer_load_state_dict; borrowed.
 * @param[in] outcome a HTONE_LOAD_....
 * @param[in] index below the count.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also where the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_match_name(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                                  htone_load_outcome outcome, size_t index, char* out_name,
                                                  size_t capacity, size_t* out_length);

#ifdef __cplusplus
}
#endif

#endif
