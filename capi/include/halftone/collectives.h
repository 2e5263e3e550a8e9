/** @file
 * The operations of a process group. Every rank calls them in the same order. They run one after another on a thread of
 * the group, while the caller computes.
 *
 * With an out_work an operation returns at once, and htone_work_wait returns its result. With NULL the call waits.
 * Until the operation is done its tensors must not be written, and its results must not be read. Tensors are
 * contiguous, on the group's device, and all ranks give the same dtypes and sizes. Results must not require a gradient.
 *
 * Sums of f32, f16, bf16 and f8 are added in FP32, those of f64 in double, in one binary tree over the rank numbers,
 * and rounded once: bitwise the same on all ranks and in every run, and a sum of many small BF16 values loses none of
 * them. A group of the kind "nccl" does so if its options say `deterministic`; else NCCL adds in an order of its own.
 *
 * Errors of an operation, after which every later one of the group fails on every rank:
 *   COMM       ranks called different operations, counts or dtypes; the message names both ranks and calls
 *   PEER_LOST  a rank has died, left or called htone_group_abort; the message names it
 *   TIMEOUT    a rank did not take part in time; the message names it
 *
 * @code
 * htone_group* group;
 * htone_work* work;
 * check(htone_group_create(device, "single", NULL, NULL, &group));
 * check(htone_tensor_zeros_like(x, &y));
 * check(htone_group_all_reduce(group, HTONE_REDUCE_AVERAGE, x, y, &work));
 * check(htone_work_wait(work));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 1 && values[5] == 6);
 * @endcode
 */
#ifndef HALFTONE_COLLECTIVES_H
#define HALFTONE_COLLECTIVES_H

#include "halftone/comm.h"
#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An operation that was started: this rank's handle of it. */
typedef struct htone_work htone_work;

/** How all_reduce and reduce_scatter combine the elements of the ranks. */
typedef enum htone_reduce_op {
  HTONE_REDUCE_SUM = 1,                 /**< numbers; integers are added modulo 2^bits */
  HTONE_REDUCE_AVERAGE = 2,             /**< floats: the sum divided by the number of ranks, then rounded */
  HTONE_REDUCE_MIN = 3,                 /**< a NaN wins */
  HTONE_REDUCE_MAX = 4,                 /**< a NaN wins */
  HTONE_REDUCE_OP_MAX_ENUM = 0x7FFFFFFF /**< not an operation: fixes the size of the type */
} htone_reduce_op;

/** The direction of a message. */
typedef enum htone_direction {
  HTONE_DIRECTION_SEND = 1,             /**< from this rank */
  HTONE_DIRECTION_RECEIVE = 2,          /**< to this rank */
  HTONE_DIRECTION_MAX_ENUM = 0x7FFFFFFF /**< not a direction: fixes the size of the type */
} htone_direction;

/** Reduces the tensors of all ranks. Every rank receives the result.
 *
 * @param[in] group borrowed.
 * @param[in] op how elements are combined.
 * @param[in] in any shape and dtype; kept until the operation is done.
 * @param[in,out] out written: as many elements as `in`, its dtype; may be `in`, and must not overlap it otherwise.
 * @param[out] out_work optional; the operation, owned by the caller. NULL waits until it is done.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, STATE, COMM, PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_all_reduce(htone_group* group, htone_reduce_op op, htone_tensor* in,
                                              htone_tensor* out, htone_work** out_work);

/** Collects the tensors of all ranks, one after another in the order of the ranks. Every rank receives all of them.
 *
 * @param[in] group borrowed.
 * @param[in] in any shape and dtype; kept until the operation is done.
 * @param[in,out] out written: size times as many elements, the dtype of `in`. `in` may be this rank's part of it.
 * @param[out] out_work as in htone_group_all_reduce; optional.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, STATE, COMM, PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_all_gather(htone_group* group, htone_tensor* in, htone_tensor* out,
                                              htone_work** out_work);

/** Reduces the tensors of all ranks. Rank r receives part r of the result.
 *
 * @param[in] group borrowed.
 * @param[in] op how elements are combined.
 * @param[in] in any shape and dtype; kept until the operation is done.
 * @param[in,out] out written: the elements of `in` divided by size, its dtype. It may be this rank's part of `in`.
 * @param[out] out_work as in htone_group_all_reduce; optional.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, STATE, COMM, PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_reduce_scatter(htone_group* group, htone_reduce_op op, htone_tensor* in,
                                                  htone_tensor* out, htone_work** out_work);

/** Replaces a tensor on every rank by that of one rank.
 *
 * @param[in] group borrowed.
 * @param[in] root the rank whose tensor is sent.
 * @param[in,out] tensor any shape and dtype; kept until the operation is done. Written on the other ranks.
 * @param[out] out_work as in htone_group_all_reduce; optional.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE, COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_broadcast(htone_group* group, int32_t root, htone_tensor* tensor,
                                             htone_work** out_work);

/** Exchanges parts: part r of `out` becomes part s of rank r's `in`, where s is this rank.
 *
 * @param[in] group borrowed.
 * @param[in] in any shape and dtype, size parts of equal length; kept until the operation is done.
 * @param[in,out] out written: as many elements as `in`, its dtype; must not overlap it.
 * @param[out] out_work as in htone_group_all_reduce; optional.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, STATE, COMM, PEER_LOST, TIMEOUT,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_all_to_all(htone_group* group, htone_tensor* in, htone_tensor* out,
                                              htone_work** out_work);

/** Exchanges messages with other ranks: tensors that are sent and tensors that are received. The operation is done when
 * all messages are, a message that is sent when it was received. The messages of one rank to another arrive in the
 * order of the calls, and of the entries of one call. Otherwise the messages of a batch do not wait for each other, so
 * no order of entries can deadlock. The other ranks may divide the same messages into calls in another way.
 *
 * @param[in] group borrowed.
 * @param[in] count number of messages; 0 does nothing.
 * @param[in] peers [count] the other rank of each message.
 * @param[in] directions [count] the htone_direction of each message.
 * @param[in] tensors [count]; any shapes and dtypes, kept until the operation is done. Those that are received are
 *   written, and must not overlap the others.
 * @param[out] out_work as in htone_group_all_reduce; optional.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE, COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_batch(htone_group* group, size_t count, const int32_t* peers,
                                         const int32_t* directions, htone_tensor* const* tensors,
                                         htone_work** out_work);

/** Sends a tensor to one rank, which calls htone_group_receive or htone_group_batch. The messages of one rank to
 * another arrive in the order of the calls. The operation is done when the tensor may be written again, which is before
 * it has arrived; after two messages that were not received it waits. In a group of the kind "nccl" it is done when the
 * tensor has arrived: there two ranks that exchange tensors call htone_group_batch, or agree on which of them sends
 * first.
 *
 * @param[in] group borrowed.
 * @param[in] peer another rank.
 * @param[in] tensor any shape and dtype; kept until the operation is done.
 * @param[out] out_work as in htone_group_all_reduce; optional.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_send(htone_group* group, int32_t peer, htone_tensor* tensor, htone_work** out_work);

/** Receives the next tensor that one rank sends to this rank.
 *
 * @param[in] group borrowed.
 * @param[in] peer another rank.
 * @param[in,out] tensor written: as many elements as were sent, the same dtype; kept until the operation is done.
 * @param[out] out_work as in htone_group_all_reduce; optional.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE, COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_receive(htone_group* group, int32_t peer, htone_tensor* tensor,
                                           htone_work** out_work);

/** Waits for all ranks: done when every rank has called it.
 *
 * @param[in] group borrowed.
 * @param[out] out_work as in htone_group_all_reduce; optional.
 * @errors INVALID_HANDLE, COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_barrier(htone_group* group, htone_work** out_work);

/** Waits until an operation is done, and returns its result.
 *
 * @param[in] work borrowed.
 * @errors INVALID_HANDLE, COMM, PEER_LOST, TIMEOUT, CANCELLED (the group was released), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_work_wait(htone_work* work);

/** Returns whether an operation is done, also if it has failed.
 *
 * @param[in] work borrowed.
 * @param[out] out_done 1 if it is done, else 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_work_is_done(htone_work* work, int32_t* out_done);

/** Adds a reference.
 *
 * @param[in] work an operation.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_work_retain(htone_work* work);

/** Releases a reference; an operation that is not done goes on, and keeps its tensors.
 *
 * @param[in] work optional; an operation.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_work_release(htone_work* work);

#ifdef __cplusplus
}
#endif

#endif
