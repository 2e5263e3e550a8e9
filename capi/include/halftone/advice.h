/** @file
 * How long the operations of a process group take, and which algorithm each runs by. A group measures in its first
 * operation what a message between two ranks costs, chooses by a model of that, and has its numbers here. A program
 * can ask for groups that it does not have, to plan how many processes are worth their messages.
 *
 * The model: an operation is a number of rounds. In a round a rank sends one message or several, one after another, and
 * waits for those of others: message_seconds for the first, next_seconds for each further one, and byte_seconds for
 * each byte of all. With n ranks, r = the logarithm of n to the base 2, rounded up, and a tensor of `bytes` on each
 * rank: all_reduce      direct 2 rounds of n-1 messages of bytes/n;  tree r rounds of 1 message, in all (n-1) bytes
 *   all_gather      direct 1 round of n-1 messages of bytes;     tree r rounds of 1 message, in all (n-1) bytes;
 *                   ring n-1 rounds of 1 message of bytes
 *   reduce_scatter, all_to_all   direct 1 round of n-1 messages of bytes/n
 *   broadcast       direct 1 round of n-1 messages of bytes;     tree r rounds of 1 message, and r of an empty one;
 *                   ring 1 round of n-1 and n-1 rounds of 1 message of bytes/n, and r of an empty one
 *   barrier         direct 1 round of n-1 empty messages;        tree r rounds of 1 empty message
 * A rank's other work, such as additions, and ranks that come late are not in it.
 *
 * @code
 * htone_link_cost network = HTONE_LINK_COST_INIT;
 * double seconds;
 * network.size = 5;
 * network.message_seconds = 20e-6;
 * network.next_seconds = 5e-6;
 * network.byte_seconds = 1e-9;
 * check(htone_comm_predict(&network, HTONE_COLLECTIVE_ALL_REDUCE, HTONE_ALGORITHM_DIRECT, 5000000, &seconds));
 * assert(seconds > 0.00806 && seconds < 0.00808);
 * @endcode
 */
#ifndef HALFTONE_ADVICE_H
#define HALFTONE_ADVICE_H

#include "halftone/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The operations of all ranks. */
typedef enum htone_collective {
  HTONE_COLLECTIVE_ALL_REDUCE = 1,       /**< htone_group_all_reduce */
  HTONE_COLLECTIVE_ALL_GATHER = 2,       /**< htone_group_all_gather */
  HTONE_COLLECTIVE_REDUCE_SCATTER = 3,   /**< htone_group_reduce_scatter */
  HTONE_COLLECTIVE_BROADCAST = 4,        /**< htone_group_broadcast */
  HTONE_COLLECTIVE_ALL_TO_ALL = 5,       /**< htone_group_all_to_all */
  HTONE_COLLECTIVE_BARRIER = 6,          /**< htone_group_barrier */
  HTONE_COLLECTIVE_MAX_ENUM = 0x7FFFFFFF /**< not an operation: fixes the size of the type */
} htone_collective;

/** How the messages of an operation are exchanged. Results are bitwise the same. */
typedef enum htone_algorithm {
  HTONE_ALGORITHM_DIRECT = 1,           /**< every rank exchanges messages with every other rank */
  HTONE_ALGORITHM_TREE = 2,             /**< distances double from round to round: few messages, for small operands */
  HTONE_ALGORITHM_RING = 3,             /**< parts go from each rank to the next */
  HTONE_ALGORITHM_MAX_ENUM = 0x7FFFFFFF /**< not an algorithm: fixes the size of the type */
} htone_algorithm;

/** The cost of messages among a number of ranks. */
typedef struct htone_link_cost {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_link_cost) */
  int32_t size;           /**< number of ranks, 1 to 4096 */
  double message_seconds; /**< of a message without data, at least 0 */
  double next_seconds;    /**< of a further message that is sent without waiting, at least 0 */
  double byte_seconds;    /**< of each byte of a message, at least 0 */
  int32_t is_shared;      /**< not 0: all ranks read a broadcast's message at the same time, from memory they share */
  uint32_t reserved;      /**< 0 */
} htone_link_cost;

/** The cost of one rank, which sends nothing, to initialize a htone_link_cost where it is declared. */
#define HTONE_LINK_COST_INIT \
  { sizeof(htone_link_cost), 1, 0.0, 0.0, 0.0, 0, 0 }

/** Sets struct_size and the other fields as HTONE_LINK_COST_INIT does.
 *
 * @param[out] cost caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_link_cost_init(htone_link_cost* cost);

/** Returns what a message of the group costs, as measured in its first operation: the slowest rank's, equal on all.
 *
 * @param[in] group borrowed.
 * @param[in,out] out_cost struct_size set by the caller; the other fields are written. A group of one rank has costs of
 *   0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no operation of all ranks, such as a barrier, is done yet),
 *   UNSUPPORTED (the kind does not measure).
 * @since 0.1
 */
HTONE_API htone_status htone_group_read_link_cost(htone_group* group, htone_link_cost* out_cost);

/** Predicts the time of an operation of the group by an algorithm.
 *
 * @param[in] group borrowed.
 * @param[in] operation of all ranks.
 * @param[in] algorithm one of htone_algorithm.
 * @param[in] bytes of the tensor that one rank gives, at least 0.
 * @param[out] out_seconds infinity if the operation does not run by this algorithm: all_reduce and all_gather run by a
 *   tree up to 1 MiB for all ranks together.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE and UNSUPPORTED as htone_group_read_link_cost.
 * @since 0.1
 */
HTONE_API htone_status htone_group_predict(htone_group* group, htone_collective operation, htone_algorithm algorithm,
                                           int64_t bytes, double* out_seconds);

/** Returns by which algorithm the group runs an operation: by the one that is predicted to be the fastest.
 *
 * @param[in] group borrowed.
 * @param[in] operation of all ranks.
 * @param[in] bytes of the tensor that one rank gives, at least 0.
 * @param[out] out_algorithm the first of those that take equally long.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE and UNSUPPORTED as htone_group_read_link_cost.
 * @since 0.1
 */
HTONE_API htone_status htone_group_algorithm(htone_group* group, htone_collective operation, int64_t bytes,
                                             htone_algorithm* out_algorithm);

/** Predicts without a group how long an operation takes: for a number of ranks and a network to be planned.
 *
 * @param[in] cost of messages, and the number of ranks.
 * @param[in] operation of all ranks.
 * @param[in] algorithm one of htone_algorithm.
 * @param[in] bytes of the tensor that one rank gives, at least 0.
 * @param[out] out_seconds as of htone_group_predict.
 * @errors INVALID_ARGUMENT, UNSUPPORTED (a larger structure, whose new fields are set).
 * @since 0.1
 */
HTONE_API htone_status htone_comm_predict(const htone_link_cost* cost, htone_collective operation,
                                          htone_algorithm algorithm, int64_t bytes, double* out_seconds);

#ifdef __cplusplus
}
#endif

#endif
