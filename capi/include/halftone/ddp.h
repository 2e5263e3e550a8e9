/** @file
 * Data-parallel training: every rank of a group holds the whole model and computes on its part of each batch. Backward
 * averages the gradients over the ranks while it computes, and every rank makes the same update.
 *
 * Gradients lie in few buffers, the buckets, and are views of them: a gradient moves there when the model is
 * replicated. A bucket is averaged when backward has completed all its gradients. After the first backward the buckets
 * are laid out once more, in the order in which gradients arrive.
 *
 * All ranks run the same forwards and backwards, in the same order. Errors of backward, on all ranks alike:
 *   STATE   backward did not reach some parameters on a rank; the message names both
 *   COMM    backward failed on a rank, which the message names; or ranks ran different backwards, which ends the group
 * and PEER_LOST and TIMEOUT as in collectives.h. Gradients are invalid then, until zero_grad. After the first two
 * errors, except where ranks ran different backwards, training can go on.
 *
 * Optimizers have the same settings on all ranks: kind, groups, learning rates, storage, schedule and its position,
 * clipping. Backward compares those that its rank has then, without a message of its own. A difference is COMM on all
 * ranks, which names a rank and the setting; on a GPU a later backward reports it and names the ranks alone. The norm
 * of a clip and the factor of a schedule of the caller's are those of the last step. After htone_ddp_join_begin has
 * ended, numbers of steps are not compared.
 *
 * With a gradient scaler, an infinity or NaN on one rank reaches the averages of all, so that all skip the step;
 * htone_optimizer_outcome names the rank.
 *
 * With HTONE_DDP_COMPRESSION_F8E5M2 gradients are sent as codes of one byte under one f32 scale for each rank and
 * bucket, a power of two, in a quarter of the bytes of f32. The owner of a part of a bucket adds the ranks' numbers in
 * f32, in the order of the ranks, and sends the sum as such codes. All ranks get the same bits, in every run. A bucket
 * with an infinity or NaN of any rank is NaN on all of them. With `error_feedback` a rank keeps what its codes lose, 4
 * bytes for each element, and 4 more for each of the part that it owns, and adds that to the next gradient. It counts
 * in the scale of its own loss: after a gradient scaler has doubled its scale, half of it is added. It is dropped for a
 * bucket in which the rank has an infinity or NaN, after a backward that failed, and when buckets are laid out anew, as
 * after the first backward; checkpoints do not have it. A parameter that no rank used in a backward loses the part that
 * was sent. A number near FP32's largest may overflow, as in bf16, and what is kept of it stays.
 *
 * Random numbers: contexts of one seed draw the same numbers on all ranks, such as initial weights. Dropout and all
 * other draws in a forward of the replicated module differ between ranks; those of rank 0 are those of one process.
 * With `deterministic`, a forward in training draws by the seed, the number of its microbatch and the place of the draw
 * in the microbatch, so that contexts of one seed draw the same numbers for it on any number of ranks. Forwards with no
 * backward between them are one microbatch. htone_context_set_seed counts microbatches from 0 again, and a checkpoint
 * saves the count; a program that sets a seed before each microbatch gets other numbers on another number of ranks.
 * Draws outside of the module's forward, and all draws of a program that uses htone_ddp_create_from_parameters, are
 * those of the context alone: give each rank a seed of its own there. A captured graph cannot contain draws with
 * `deterministic`, nor draws of other ranks than 0: UNSUPPORTED.
 *
 * @code
 * htone_group* group;
 * htone_ddp* ddp;
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * check(htone_group_create(device, "single", NULL, NULL, &group));
 * check(htone_ddp_create(model, group, NULL, &ddp));
 * check(htone_module_forward(model, x, NULL, &y));
 * check(htone_sum(y, 0, NULL, 0, &loss));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_DDP_H
#define HALFTONE_DDP_H

#include "halftone/comm.h"
#include "halftone/nn.h"
#include "halftone/parameters.h"
#include "halftone/scope.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model that ranks train together. */
typedef struct htone_ddp htone_ddp;

/** How the averages of gradients are sent. */
typedef enum htone_ddp_compression {
  HTONE_DDP_COMPRESSION_NONE = 1,             /**< in the dtype of the gradients */
  HTONE_DDP_COMPRESSION_F16 = 2,              /**< in f16, divided by the number of ranks first */
  HTONE_DDP_COMPRESSION_BF16 = 3,             /**< in bf16, likewise */
  HTONE_DDP_COMPRESSION_POWER_SGD = 4,        /**< matrices as products of thin ones: PowerSGD (Vogels et al., 2019) */
  HTONE_DDP_COMPRESSION_F8E5M2 = 5,           /**< in f8e5m2, and added in f32; see above */
  HTONE_DDP_COMPRESSION_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_ddp_compression;

/** Settings of htone_ddp_create, equal on all ranks. */
typedef struct htone_ddp_options {
  uint32_t struct_size;           /**< sizeof of this structure */
  int32_t find_unused_parameters; /**< not 0: a backward may leave out parameters, and not the same ones on all
                                     ranks. A parameter that no rank used keeps its gradient. Default 0 */
  int64_t first_bucket_bytes;     /**< of the first bucket, at least 1; default 1 MiB */
  int64_t bucket_bytes;           /**< the most of the other buckets, at least 1; default 25 MiB. If a sixteenth of all
                                     gradients is less, that is their size, but first_bucket_bytes at least: the last
                                     bucket has nothing to run beside */
  int32_t broadcast_buffers;      /**< not 0: before each forward of the module in training, if the thread records,
                                     rank 0's buffers replace those of the others; default 1 */
  /** Not 0: gradients of ranks and of backwards are added and not averaged, in f32 and in an order that makes the
   * weights bitwise equal for 1, 2, 4, ... ranks, if the number of microbatches of a step is a power of two. Round i of
   * a step computes microbatch i * size + rank on each rank, and divides its loss by the number of microbatches of the
   * step. Its dropout is that of the microbatch, too. Not with a compression. Default 0
   */
  int32_t deterministic;
  htone_ddp_compression compression; /**< default HTONE_DDP_COMPRESSION_NONE */
  int32_t error_feedback;            /**< PowerSGD and F8E5M2: not 0 adds what was not sent to the next gradient;
                                        default 1 */
  int64_t power_sgd_rank;            /**< PowerSGD: columns of the thin matrices, at least 1; default 1 */
  int64_t power_sgd_start;           /**< PowerSGD: backwards that average without compression first; default 1000 */
  double power_sgd_rate;             /**< PowerSGD: a gradient is compressed if that divides its elements by more than
                                        this, which is more than 0; default 2 */
  int32_t warm_start;                /**< PowerSGD: not 0 begins with the matrices of the step before; default 1 */
  int32_t check_batch_sizes;         /**< not 0: the forwards of one average must have as many rows on all ranks, by the
                                        first dimension of the module's first input, else backward is COMM. Default 0:
                                        an average is over ranks, so that rows of a smaller batch count for more */
} htone_ddp_options;

/** The defaults, to initialize a htone_ddp_options where it is declared. */
#define HTONE_DDP_OPTIONS_INIT \
  { sizeof(htone_ddp_options), 0, 1 << 20, 25 << 20, 1, 0, HTONE_DDP_COMPRESSION_NONE, 1, 1, 1000, 2.0, 1, 0 }

/** Fills options with the defaults, as HTONE_DDP_OPTIONS_INIT does.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_ddp_options_init(htone_ddp_options* options);

/** Replicates a module. Every rank calls it for the same model; rank 0's weights and buffers replace those of the
 * others. The gradients of all parameters that are not frozen are averaged from now on, until the last reference to the
 * result is released.
 *
 * @param[in] module retained.
 * @param[in] group over the memory of the module's device; retained.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, STATE (no parameter requires a gradient), DEVICE, COMM (a
 *   rank has another model or other options; names the rank and the first difference), PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_create(htone_module* module, htone_group* group, const htone_ddp_options* options,
                                        htone_ddp** out);

/** Replicates parameters, as htone_ddp_create does, for a model whose forward is not a module. No buffers are
 * broadcast.
 *
 * @param[in] parameters the parameters are retained. The set may change afterwards.
 * @param[in] group over the memory of the parameters' device; retained.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out owned by the caller.
 * @errors as htone_ddp_create: INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, STATE, DEVICE, COMM, PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_create_from_parameters(htone_parameters* parameters, htone_group* group,
                                                        const htone_ddp_options* options, htone_ddp** out);

/** Replaces a bucket of gradients by its average over the ranks. It may use the operations of the group, in the same
 * order on all ranks, and waits for them. A failure ends the group: backward returns CALLBACK on this rank, and
 * PEER_LOST with the reason on the others. The error of an operation of the group that it returns is backward's own.
 *
 * @param[in] bucket 1-D, in the dtype of its gradients; lent for the call. What lies between gradients is 0.
 * @param[in] index of the bucket. All ranks call it for bucket 0 first.
 * @param[in] user of htone_ddp_set_reduction.
 */
typedef htone_status (*htone_ddp_reduce_fn)(htone_tensor* bucket, size_t index, void* user);

/** Makes a callback average the buckets from the next backward on, in place of the options' compression. Every rank
 * calls it between the same backwards.
 *
 * @param[in] ddp borrowed.
 * @param[in] callback runs on the thread that runs backward, when a bucket is complete.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user`, from any thread, when the callback is not used any more; optional. On
 *   failure it does not run.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (a deterministic model, or a backward is under way), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_set_reduction(htone_ddp* ddp, htone_ddp_reduce_fn callback, void* user,
                                               void (*destroy)(void* user));

/** Leaves the gradients of backwards to this rank until the scope ends: they are added up, and the first backward after
 * the scope averages the sums. Every rank does so for the same backwards.
 *
 * @param[in] ddp retained until the scope ends.
 * @param[out] out the scope; owned by the caller, who ends it with htone_scope_end.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (a deterministic model averages every backward), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_no_sync_begin(htone_ddp* ddp, htone_scope** out);

/** Lets ranks have different numbers of batches from now on, until htone_ddp_join_end. Every rank calls it.
 *
 * @param[in] ddp borrowed.
 * @param[in] divides_by_active 0: averages are over all ranks, and those without batches count as gradients of 0;
 *   otherwise they are over the ranks that have a batch.
 * @errors INVALID_HANDLE, STATE (join was begun already).
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_join_begin(htone_ddp* ddp, int32_t divides_by_active);

/** Reports that this rank has no more batches. It takes part in the averages of the others until all ranks have come
 * here, and then receives the weights and buffers of a rank that came last. Its gradients are empty afterwards.
 *
 * @param[in] ddp borrowed.
 * @errors INVALID_HANDLE, STATE (join was not begun, or parameters without a gradient), COMM, PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_join_end(htone_ddp* ddp);

/** Compares the weights of all ranks by checksums. They are bitwise equal unless a program changed those of one rank,
 * or a machine made an error; a program that checks now and then notices it before it matters. Reads all weights. Every
 * rank calls it.
 *
 * @param[in] ddp borrowed.
 * @errors INVALID_HANDLE, COMM (names the first rank that differs from rank 0, and the first parameter), PEER_LOST,
 *   TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_check_weights(htone_ddp* ddp);

/** Reports that a parameter's gradient is complete, for programs that compute gradients without htone_tensor_backward.
 * A gradient in memory of the caller's own is copied into its bucket, and the average is copied back.
 *
 * @param[in] ddp borrowed.
 * @param[in] parameter borrowed; has a gradient.
 * @errors INVALID_HANDLE, STATE (not a parameter of this model, no gradient, marked already, or a backward is under
 *   way), COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_mark_ready(htone_ddp* ddp, htone_parameter* parameter);

/** Waits for the averages of all gradients that were marked since the last call: the end of a backward.
 *
 * @param[in] ddp borrowed.
 * @errors INVALID_HANDLE, STATE (no gradient was marked, or some were not, which are named), COMM, PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_finish(htone_ddp* ddp);

/** Makes all batch_norm layers of a module normalise with the statistics of all ranks' batches in training, as if one
 * rank had them all. The ranks' batches may have different sizes. Every rank calls it for the same model. It lasts as
 * long as the module.
 *
 * @param[in] module borrowed.
 * @param[in] group retained by the layers. A group apart from that of htone_ddp_create does not wait for gradients.
 * @errors INVALID_HANDLE, STATE (no batch_norm layer, or no parameter), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_synchronize_batch_norm(htone_module* module, htone_group* group);

/** Adds a reference.
 *
 * @param[in] ddp a replicated model.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_ddp_retain(htone_ddp* ddp);

/** Releases a reference. Gradients keep their memory.
 *
 * @param[in] ddp optional; a replicated model.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_ddp_release(htone_ddp* ddp);

#ifdef __cplusplus
}
#endif

#endif
