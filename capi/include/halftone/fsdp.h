/** @file
 * Sharded data-parallel training (ZeRO, FSDP): ranks compute on their parts of each batch as in ddp.h, but share the
 * state of training. Every rank keeps and updates only its part of it, so that N ranks train a model whose state one
 * machine could not hold. With P parameters, FP32 weights and Adam, a rank holds, and sends in a step, in bytes:
 *
 *   sharding                     memory            sent
 *   none (ddp.h)                 16 P              8 P (N - 1) / N
 *   HTONE_SHARDING_OPTIMIZER     8 P + 8 P / N     8 P (N - 1) / N    moments
 *   HTONE_SHARDING_GRADIENTS     4 P + 12 P / N    8 P (N - 1) / N    gradients, too
 *   HTONE_SHARDING_FULL          16 P / N          12 P (N - 1) / N   weights, too
 *
 * The model is cut into units, modules whose weights are gathered from all ranks just before their forward, and again
 * before their backward, and released afterwards; what is in no unit belongs to the model's own unit, which stays from
 * the beginning of forward to the end of backward. With HTONE_SHARDING_FULL, choose units of a few layers, such as the
 * blocks of a transformer (kind "transformer_block"): memory for the weights of two or three units is needed besides
 * the table's, and each unit costs messages of its own. Weights that a module outside their unit reads, as a tied
 * embedding, stay until the end of the forward.
 *
 * A model that is larger than one machine's memory is made within htone_deferred_init_begin: then each rank draws one
 * parameter at a time and keeps its part, and never holds more than one unit's weights besides its own parts.
 *
 * Shard the module first and create the optimizer over it afterwards. Then all calls are those of one rank: forward,
 * backward, zero_grad, scaler, clipping, step and checkpoints (htone_checkpoint_create_shared). Every rank makes all of
 * them, in the same order. Norm, infinities and NaN are those of all ranks. Differences from one rank:
 * - A parameter's gradient is a range on each rank and cannot be read. Its weights can be read in forward and backward,
 *   within htone_fsdp_gather_begin, and, where they are not shared, at any time.
 * - A copy of weights in the optimizer's compute_dtype is not kept: weight_dtype takes its place.
 * - Adafactor needs whole parameters: UNSUPPORTED. Averages of weights (ema.h) are shared like the weights, and
 *   UNSUPPORTED with offload.
 * - The model keeps its weights in shards as long as it lives; releasing the htone_fsdp changes nothing.
 * - With HTONE_SHARDING_OPTIMIZER and HTONE_SHARDING_GRADIENTS htone_optimizer_step does not wait for the weights of
 *   the other ranks, which arrive while it goes on and while the next forward runs: a layer waits for its own. Every
 *   call that gets a tensor over the weights waits for them, and gets PEER_LOST or TIMEOUT if a rank is lost. An
 *   address from htone_tensor_data knows nothing of that: ask for it again after a step, before reading there.
 *
 * With `weight_dtype` HTONE_F8E4M3 a weight has one byte in messages: an E4M3 code, with one FP32 scale for each
 * parameter, its largest magnitude on all ranks / 448, as in HTONE_RECIPE_CURRENT (recipe.h). Codes are decoded to BF16
 * when they arrive. That recipe then quantizes the weights to the codes that were sent, if the largest magnitude is at
 * least 2^-100 and finite in BF16. The scale of zeros is 1; a parameter with an infinity or NaN is read as NaN. Ranks
 * agree about all scales in one message after each change of weights. htone_optimizer_step waits for it, but not with
 * HTONE_SHARDING_FULL; with `offload` it reads the masters once more.
 *
 * With `offload` a rank keeps masters and moments in host memory, or in a file, while they are not used, so that a
 * model trains whose state exceeds the device's memory; one rank alone may do so (a group of kind "single"). Step
 * brings one part of them after another, and HTONE_SHARDING_FULL brings masters whenever it gathers a unit. Gradients
 * stay. The results have the same bits. If a step fails with IO, such as for a full disk, a part of the weights is
 * updated and the others are not: load a checkpoint.
 *
 * A program that computes gradients without halftone shares the state of its parameters by
 * htone_fsdp_create_from_parameters, and hands gradients in by htone_fsdp_mark_ready. Parameters over the program's own
 * memory stay there whole, with HTONE_SHARDING_OPTIMIZER or HTONE_SHARDING_GRADIENTS: step writes all of them.
 *
 * Errors of backward are those of ddp.h, and optimizers are compared as there. Dropout and other draws in the module's
 * forward follow the same rules; ranks are counted over all replicas. If a forward or a backward fails on one rank with
 * HTONE_SHARDING_FULL, the others may wait for weights that it does not send: they get COMM, PEER_LOST or TIMEOUT, and
 * the group has ended.
 *
 * @code
 * htone_group* group;
 * htone_fsdp* fsdp;
 * check(htone_group_create(device, "single", NULL, NULL, &group));
 * check(htone_fsdp_create(model, group, NULL, NULL, &fsdp));
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * check(htone_module_forward(model, x, NULL, &y));
 * check(htone_sum(y, 0, NULL, 0, &loss));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_FSDP_H
#define HALFTONE_FSDP_H

#include "halftone/comm.h"
#include "halftone/nn.h"
#include "halftone/parameters.h"
#include "halftone/scope.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model whose state ranks share. */
typedef struct htone_fsdp htone_fsdp;

/** The part of the state of training that ranks share. */
typedef enum htone_sharding {
  HTONE_SHARDING_OPTIMIZER = 1,        /**< the optimizer's moments, and its masters if weights are gathered in 16 bits:
                                          ZeRO-1 */
  HTONE_SHARDING_GRADIENTS = 2,        /**< gradients as well: ZeRO-2 */
  HTONE_SHARDING_FULL = 3,             /**< weights as well: ZeRO-3, FSDP */
  HTONE_SHARDING_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_sharding;

/** The places in which a rank keeps masters and moments while they are not used. */
typedef enum htone_offload {
  HTONE_OFFLOAD_NONE = 0,             /**< on the device */
  HTONE_OFFLOAD_HOST = 1,             /**< in host memory, from which the device reads */
  HTONE_OFFLOAD_FILE = 2,             /**< in a file without a name, which goes with the process */
  HTONE_OFFLOAD_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_offload;

/** Settings of htone_fsdp_create, equal on all ranks but for those of offload. */
typedef struct htone_fsdp_options {
  uint32_t struct_size;     /**< sizeof of this structure */
  htone_sharding sharding;  /**< default HTONE_SHARDING_FULL */
  const char* unit_path;    /**< of HTONE_SHARDING_FULL: a pattern for the whole path of a module that is a unit: '*'
                               matches any number of characters, dots too, and '?' one. Default NULL: any */
  const char* unit_kind;    /**< likewise its kind, as htone_module_kind writes it: "transformer_block". Default NULL:
                               any */
  int64_t unit_elements;    /**< likewise the least number of elements of its parameters, without those of units inside
                               it, at least 1; default 1048576 */
  int32_t most_units;       /**< of HTONE_SHARDING_FULL: the next unit is gathered early while fewer units than this
                               are there, beside the model's own; 0 or 1: never early. Default 2 */
  int32_t deterministic;    /**< not 0: as in htone_ddp_options; weights are bitwise equal for 1, 2, 4, ... ranks and
                               every sharding. Default 0 */
  htone_dtype weight_dtype; /**< f32, bf16, f16 or f8e4m3, in which weights of two or more dimensions are gathered;
                               operations read f8e4m3 as bf16. Masters, all other weights and those in the caller's
                               memory stay f32. Default HTONE_F32 */
  htone_dtype reduce_dtype; /**< f32, bf16, f16 or f8e5m2, in which gradients are sent. f8e5m2: as codes that are added
                               in f32, as HTONE_DDP_COMPRESSION_F8E5M2; no replicas. Default HTONE_F32 */
  htone_offload offload;    /**< default HTONE_OFFLOAD_NONE */
  int32_t find_unused_parameters; /**< not 0: a backward may leave out parameters, with HTONE_SHARDING_FULL the same
                               ones on all ranks, else also others on each. A parameter that no rank used has no
                               gradient, and the optimizer leaves it as it is. Default 0 */
  const char* offload_path;  /**< of HTONE_OFFLOAD_FILE: a directory on a fast disk with room for the state; the file is
                                made through the context's table for files. Default NULL */
  int64_t offload_bytes;     /**< of offload: masters are brought together, with their moments, until they have this
                                many bytes, at least 1; three such windows are in memory during a step. Default
                                16777216 */
  int32_t check_batch_sizes; /**< not 0: as in htone_ddp_options. Default 0 */
  int32_t error_feedback;    /**< of reduce_dtype f8e5m2: not 0 adds what was not sent to the next gradient. A rank
                                keeps 4 bytes for each element of all gradients for that. Default 1 */
} htone_fsdp_options;

/** The defaults, to initialize a htone_fsdp_options where it is declared. */
#define HTONE_FSDP_OPTIONS_INIT                                                                       \
  {                                                                                                   \
    sizeof(htone_fsdp_options), HTONE_SHARDING_FULL, NULL, NULL, 1 << 20, 2, 0, HTONE_F32, HTONE_F32, \
        HTONE_OFFLOAD_NONE, 0, NULL, 16777216, 0, 1                                                   \
  }

/** Fills options with the defaults, as HTONE_FSDP_OPTIONS_INIT does.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_fsdp_options_init(htone_fsdp_options* options);

/** Shares the state of a module's training among ranks. Every rank calls it for the same model; rank 0's weights and
 * buffers replace those of the others.
 *
 * @param[in] module borrowed; f32 parameters without an optimizer. Keeps what it needs.
 * @param[in] group the ranks that share, over the memory of the module's device; retained by the module.
 * @param[in] replicas optional; the ranks that have this rank's number in other groups like `group`, to average with
 *   (hybrid sharding): for each group of one machine, htone_group_split gives both. Retained by the module.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (full sharding of a parameter over the caller's memory),
 *   DTYPE_MISMATCH, STATE (no parameter requires a gradient; a parameter has an optimizer, or is sharded already),
 *   DEVICE, COMM (a rank has another model or other options; names the rank and the first difference), PEER_LOST,
 *   TIMEOUT, OUT_OF_MEMORY, IO (of offload_path). After the last four the module may be shared in part: make it anew.
 * @source Rajbhandari et al., arXiv:1910.02054; Zhao et al., arXiv:2304.11277.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_create(htone_module* module, htone_group* group, htone_group* replicas,
                                         const htone_fsdp_options* options, htone_fsdp** out);

/** Shares the state of training of parameters, as htone_fsdp_create does, for a model whose forward is not a module.
 * All of them are one unit. Parameters of the library's memory are read within htone_fsdp_gather_begin: begin the scope
 * before forward, and end it after backward.
 *
 * @param[in] parameters f32 and without an optimizer; retained, and sharded as long as they live. Keep the result while
 *   they train. The set may change afterwards.
 * @param[in] group as for htone_fsdp_create.
 * @param[in] replicas optional; as for htone_fsdp_create.
 * @param[in] options optional; NULL means the defaults. Units are not chosen.
 * @param[out] out owned by the caller.
 * @errors as htone_fsdp_create: INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, DTYPE_MISMATCH, STATE, DEVICE, COMM,
 *   PEER_LOST, TIMEOUT, OUT_OF_MEMORY, IO.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_create_from_parameters(htone_parameters* parameters, htone_group* group,
                                                         htone_group* replicas, const htone_fsdp_options* options,
                                                         htone_fsdp** out);

/** Converts the results of the module's forward to a dtype from now on. Results of f64 and integers stay as they are,
 * and so do all results unless this is called. Buffers, such as the statistics of batch_norm, keep their dtype always.
 *
 * @param[in] fsdp borrowed.
 * @param[in] dtype f32, bf16 or f16.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_set_output_dtype(htone_fsdp* fsdp, htone_dtype dtype);

/** Reports that a parameter's gradient is complete, for programs that compute gradients without htone_tensor_backward.
 * The gradient is copied, and stays as it is where the caller brought it (htone_parameter_set_grad). The optimizer gets
 * this rank's part of the average. It replaces the one before; with `deterministic` it is added until zero_grad.
 *
 * @param[in] fsdp borrowed.
 * @param[in] parameter borrowed; has a gradient.
 * @errors INVALID_HANDLE, STATE (not a parameter of this model, no gradient, marked already, or a backward is under
 *   way), COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_mark_ready(htone_fsdp* fsdp, htone_parameter* parameter);

/** Waits for the averages of all gradients that were marked since the last call: the end of a backward.
 *
 * @param[in] fsdp borrowed.
 * @errors INVALID_HANDLE, STATE (no gradient was marked, or some were not, which are named), COMM, PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_finish(htone_fsdp* fsdp);

/** Returns the number of units, the model's own included.
 *
 * @param[in] fsdp borrowed.
 * @param[out] out_count caller's memory.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_unit_count(htone_fsdp* fsdp, size_t* out_count);

/** Returns the bytes of this rank's masters and moments that are kept elsewhere than on the device. They grow when an
 * optimizer is created.
 *
 * @param[in] fsdp borrowed.
 * @param[out] out_bytes caller's memory; 0 without offload.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_offloaded_bytes(htone_fsdp* fsdp, int64_t* out_bytes);

/** Leaves the gradients of backwards to this rank until the scope ends: they are added up, in memory for whole
 * gradients, and the first backward after the scope reduces the sums. Every rank does so for the same backwards.
 *
 * @param[in] fsdp retained until the scope ends.
 * @param[out] out the scope; owned by the caller, who ends it with htone_scope_end.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (a deterministic model reduces every backward), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_no_sync_begin(htone_fsdp* fsdp, htone_scope** out);

/** Gathers all weights until the scope ends, so that they can be read: to save, print or compare them. What is written
 * to them is lost. Every rank begins the scope at the same place; reading them then needs no other rank.
 *
 * @param[in] fsdp retained until the scope ends.
 * @param[out] out the scope; owned by the caller, who ends it with htone_scope_end. Tensors over the weights cannot be
 *   read afterwards.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_gather_begin(htone_fsdp* fsdp, htone_scope** out);

/** Adds a reference.
 *
 * @param[in] fsdp a sharded model.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_fsdp_retain(htone_fsdp* fsdp);

/** Releases a reference. The module stays as it is.
 *
 * @param[in] fsdp optional; a sharded model.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_fsdp_release(htone_fsdp* fsdp);

#ifdef __cplusplus
}
#endif

#endif
