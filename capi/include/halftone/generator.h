/** @file
 * The generator of random numbers that every context has. A draw, such as a fill or a dropout, uses the next sequence
 * of the context's seed; which numbers it gives depends on the two alone. In the forward of a model that ranks train
 * together they depend on the rank or the microbatch, too (ddp.h).
 *
 * @code
 * const int64_t shape[] = {6};
 * float again[6];
 * check(htone_context_set_seed(context, 1));
 * check(htone_rand(device, HTONE_F32, 1, shape, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * check(htone_context_set_seed(context, 1));
 * check(htone_rand(device, HTONE_F32, 1, shape, &y));
 * check(htone_tensor_read(y, HTONE_F32, again, sizeof again));
 * assert(memcmp(values, again, sizeof values) == 0);
 * @endcode
 */
#ifndef HALFTONE_GENERATOR_H
#define HALFTONE_GENERATOR_H

#include "halftone/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The state of a context's random generator. */
typedef struct htone_generator_state {
  uint32_t struct_size; /**< set by the caller to sizeof(htone_generator_state) */
  uint32_t reserved;    /**< 0 */
  uint64_t seed;        /**< as in htone_context_options */
  uint64_t sequence;    /**< of the next draw; 0 before the first */
  uint64_t microbatch;  /**< of the next forward that `deterministic` (ddp.h) numbers; 0 before the first */
} htone_generator_state;

/** An empty htone_generator_state of the right size, to initialize one where it is declared. */
#define HTONE_GENERATOR_STATE_INIT \
  { sizeof(htone_generator_state), 0, 0, 0, 0 }

/** Begins with the draws of a seed anew, as a new context with this seed does.
 *
 * @param[in] context borrowed; no other thread draws meanwhile.
 * @param[in] seed any number.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_context_set_seed(htone_context* context, uint64_t seed);

/** Sets struct_size and empties the other fields, as HTONE_GENERATOR_STATE_INIT does.
 *
 * @param[out] empty caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_generator_state_init(htone_generator_state* empty);

/** Reads the state from which the next draw follows. A checkpoint saves it by itself.
 *
 * @param[in] context borrowed.
 * @param[in,out] out_state struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_context_generator_state(htone_context* context, htone_generator_state* out_state);

/** Puts a state back, so that the draws after it are repeated.
 *
 * @param[in] context borrowed; no other thread draws meanwhile.
 * @param[in] saved of any context; sequence and microbatch at most 2^62.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED.
 * @since 0.1
 */
HTONE_API htone_status htone_context_set_generator_state(htone_context* context, const htone_generator_state* saved);

#ifdef __cplusplus
}
#endif

#endif
