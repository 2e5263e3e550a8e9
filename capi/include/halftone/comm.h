/** @file
 * Process groups: ranks that communicate, each in a process or a thread of its own. collectives.h has their operations.
 *
 * Kinds of groups:
 *   single          one rank; a program that is written for many ranks runs with it unchanged
 *   meta            any number of ranks that all do the same, without the others, over the device "meta": plans the
 *                   memory and the messages of one of them
 *   threads         threads of one process, which share a store in memory
 *   shared_memory   processes of one machine, which share a store in a directory
 *   gloo            processes of any machines, over TCP; in the plugin libhalftone_gloo.so
 *
 * Every rank creates its group with the same store, name, size and settings, and then calls the same operations in the
 * same order. An error of one rank is an error on all ranks: after it every operation of the group fails, and a new
 * group with another name may be created in the same processes. One thread at a time uses a group; abort, counters and
 * describe_operations are safe from any thread.
 *
 * @code
 * htone_group* group;
 * int32_t size;
 * check(htone_group_create(device, "single", NULL, NULL, &group));
 * check(htone_group_size(group, &size));
 * assert(size == 1);
 * check(htone_group_release(group));
 * @endcode
 */
#ifndef HALFTONE_COMM_H
#define HALFTONE_COMM_H

#include "halftone/device.h"
#include "halftone/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One rank of a process group. */
typedef struct htone_group htone_group;

/** Settings of htone_group_create, equal on all ranks but for rank and interface_name. */
typedef struct htone_group_options {
  uint32_t struct_size;     /**< sizeof of this structure */
  int32_t rank;             /**< of this process or thread, 0 to size - 1; default 0 */
  int32_t size;             /**< number of ranks, 1 to 4096; default 1 */
  int32_t checks_data;      /**< gloo: not 0: messages carry a checksum; nccl: not 0: the ranks compare
                               all their calls, not only the first; default 0 */
  double timeout_seconds;   /**< of the creation and of each operation, more than 0; default 60 */
  double heartbeat_seconds; /**< gloo, nccl: a rank without a sign of life for three times as long is lost; 0: only
                               operations notice lost ranks; default 5. The other kinds notice at once. */
  const char* name;         /**< distinguishes the groups of one store; NULL means "world" */
  /** The address or the interface that other machines reach this rank at: "192.168.1.7" or "eth0". NULL means the
   * address of the machine's name, or the loopback.
   */
  const char* interface_name;
  int32_t deterministic; /**< nccl: not 0: sums of floats are added in one tree over the rank numbers, as all other
                            kinds do; else in NCCL's own order, which is faster; default 0 */
  int32_t reserved;      /**< 0 */
} htone_group_options;

/** The defaults, to initialize a htone_group_options where it is declared. */
#define HTONE_GROUP_OPTIONS_INIT \
  { sizeof(htone_group_options), 0, 1, 0, 60.0, 5.0, NULL, NULL, 0, 0 }

/** Fills options with the defaults, as HTONE_GROUP_OPTIONS_INIT does.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_group_options_init(htone_group_options* options);

/** Creates this rank's part of a group. Waits for the other ranks, at most the timeout; a group of threads does not
 * wait.
 *
 * @param[in] device whose memory the operations use; retained. The built-in kinds need the CPU's, or for the kind
 *   "meta" that of the device "meta"; "nccl" needs a GPU's.
 * @param[in] kind "single", "meta", "threads", "shared_memory", or one that a loaded plugin serves: "gloo", "nccl".
 * @param[in] store in which the ranks find each other; retained; optional if the kind is
 *   "single" or "meta".
 * @param[in] options optional; NULL means the defaults: a group of one rank.
 * @param[out] out the group; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (kind, device, or another version on another rank), COMM (the
 *   rank is taken, or the ranks gave different settings), TIMEOUT (names the ranks that are missing), PEER_LOST, IO,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_create(htone_device* device, const char* kind, htone_store* store,
                                          const htone_group_options* options, htone_group** out);

/** Splits a group into groups of the ranks that gave the same color, in the order of their keys, and of their ranks
 * where keys are equal. Every rank of the group calls it. The group stays usable.
 * Arguments and results are the new group's own numbers of ranks. Messages name a rank by its number in the group that
 * was created and not split. The groups of a rank that were split from one group fail together: when one fails, the
 * others that exist then return its reason.
 *
 * @param[in] group borrowed.
 * @param[in] color of the new group; a negative one puts this rank into none.
 * @param[in] key places this rank among those of its color.
 * @param[out] out the new group of this rank's color; owned by the caller. NULL if color is negative.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, COMM, TIMEOUT, PEER_LOST, IO, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_split(htone_group* group, int32_t color, int32_t key, htone_group** out);

/** Returns this rank's number.
 *
 * @param[in] group borrowed.
 * @param[out] out_rank 0 to size - 1.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_group_rank(htone_group* group, int32_t* out_rank);

/** Returns the number of ranks.
 *
 * @param[in] group borrowed.
 * @param[out] out_size at least 1.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_group_size(htone_group* group, int32_t* out_size);

/** Returns the kind that the group was created with.
 *
 * @param[in] group borrowed.
 * @param[out] out caller's memory for the text and its end.
 * @param[in] capacity bytes of `out`.
 * @param[out] out_length bytes of the text without its end; also set on BUFFER_TOO_SMALL.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_group_kind(htone_group* group, char* out, size_t capacity, size_t* out_length);

/** Fails every operation that this rank has not finished, and all later ones, with PEER_LOST on every rank. A program
 * calls it when it cannot go on, so that the other ranks need not wait for their timeout.
 *
 * @param[in] group borrowed.
 * @param[in] reason text for the messages of the other ranks.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_group_abort(htone_group* group, const char* reason);

/** Counts of what a rank has exchanged with the others since its group was created. */
typedef struct htone_group_counters {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_group_counters) */
  uint32_t reserved;      /**< 0 */
  int64_t operations;     /**< that are done */
  int64_t messages_sent;  /**< to other ranks */
  int64_t bytes_sent;     /**< of operands, without the heads of messages */
  int64_t bytes_received; /**< likewise */
} htone_group_counters;

/** An empty htone_group_counters of the right size, to initialize one where it is declared. */
#define HTONE_GROUP_COUNTERS_INIT \
  { sizeof(htone_group_counters), 0, 0, 0, 0, 0 }

/** Sets struct_size and empties the other fields, as HTONE_GROUP_COUNTERS_INIT does.
 *
 * @param[out] counters caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_group_counters_init(htone_group_counters* counters);

/** Returns the counts of this rank.
 *
 * @param[in] group borrowed.
 * @param[in,out] out_counters struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_group_read_counters(htone_group* group, htone_group_counters* out_counters);

/** Returns the last 64 operations of this rank as text, one line each, the oldest first: number, call, state and times.
 * After an error it shows what each rank was doing; the last 8 of them go to the log as well (htone_log_set_callback).
 *
 * @param[in] group borrowed.
 * @param[out] out caller's memory for the text and its end.
 * @param[in] capacity bytes of `out`.
 * @param[out] out_length bytes of the text without its end; also set on BUFFER_TOO_SMALL.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_describe_operations(htone_group* group, char* out, size_t capacity,
                                                       size_t* out_length);

/** Adds a reference.
 *
 * @param[in] group a group.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_group_retain(htone_group* group);

/** Releases a reference. The last one ends operations that are not done with CANCELLED, and makes those of the other
 * ranks that need this rank return PEER_LOST. It waits until the others have received what this rank has sent, at most
 * the timeout. Every htone_work of the group is a reference, too.
 *
 * @param[in] group optional; a group.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_group_release(htone_group* group);

#ifdef __cplusplus
}
#endif

#endif
