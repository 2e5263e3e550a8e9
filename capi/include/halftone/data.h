/** @file
 * Data: an order of samples, and the batches gathered in that order.
 *
 * @code
 * htone_sampler_options options = HTONE_SAMPLER_OPTIONS_INIT;
 * htone_sampler* sampler;
 * htone_batches* batches;
 * options.count = 2; // the rows of x
 * options.batch_size = 1;
 * check(htone_sampler_create(&options, &sampler));
 * check(htone_batches_create(sampler, 1, &x, &batches));
 * check(htone_batches_next(batches));
 * check(htone_batches_tensor(batches, 0, &y)); // [1, 3]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 3);
 * @endcode
 */
#ifndef HALFTONE_DATA_H
#define HALFTONE_DATA_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An order of samples, and a position in it. */
typedef struct htone_sampler htone_sampler;
/** Rows of tensors, gathered in the order of a sampler. */
typedef struct htone_batches htone_batches;

/** Settings of htone_sampler_create. */
typedef struct htone_sampler_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t shuffle;      /**< not 0: a new random order each epoch; default 1 */
  uint64_t seed;        /**< seed of the order; default 0 */
  int64_t count;        /**< samples in the data set; 1 to 2^60 - 1; shuffling takes 8 bytes for each */
  int64_t batch_size;   /**< number of samples in a batch, on each rank; at least 1 */
  int32_t drop_last;    /**< not 0: leave out a last batch that is not full, as training wants it; default 0 */
  int32_t rank;         /**< rank of this process; default 0 */
  int32_t world_size;   /**< ranks that share the data, each taking every world_size-th sample; default 1 */
  uint32_t reserved;    /**< 0 */
} htone_sampler_options;

/** The defaults, to initialize a htone_sampler_options where it is declared. */
#define HTONE_SAMPLER_OPTIONS_INIT \
  { sizeof(htone_sampler_options), 1, 0, 0, 0, 0, 0, 1, 0 }

/** Fills options with the defaults; count and batch_size are 0 and must be set.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_sampler_options_init(htone_sampler_options* options);

/** Makes a sampler. The order of epoch e is a permutation that depends only on (seed, e, count). By default every
 * sample is taken once an epoch, so the last batch may be smaller, and ranks may have different numbers of samples and
 * batches. Set drop_last where batches must be full, and for ranks that train together: then every rank gets the same
 * number of full batches, and the samples that are left over are others in each epoch.
 *
 * @param[in] options not optional, since it has count and batch_size.
 * @param[out] out the sampler, before the first batch of epoch 0; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source Fisher-Yates shuffle on Philox4x32-10.
 * @since 0.1
 */
HTONE_API htone_status htone_sampler_create(const htone_sampler_options* options, htone_sampler** out);

/** Adds a reference.
 *
 * @param[in] sampler a sampler.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_sampler_retain(htone_sampler* sampler);

/** Releases a reference.
 *
 * @param[in] sampler optional; a sampler.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_sampler_release(htone_sampler* sampler);

/** Returns the number of batches of an epoch on this rank.
 *
 * @param[in] sampler borrowed.
 * @param[out] out_count the number of batches.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_sampler_batches_per_epoch(htone_sampler* sampler, int64_t* out_count);

/** Returns the position of the sampler.
 *
 * @param[in] sampler borrowed.
 * @param[out] out_epoch the current epoch, from 0.
 * @param[out] out_batch number of batches that were taken from it.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_sampler_position(htone_sampler* sampler, int64_t* out_epoch, int64_t* out_batch);

/** Returns the next batch of sample indices; after the last of an epoch the next epoch begins.
 *
 * @param[in] sampler borrowed.
 * @param[out] out_indices [*out_count] sample indices.
 * @param[in] capacity entries at out_indices; batch_size always suffices.
 * @param[out] out_count their number, also if the buffer is too small (then no batch is taken).
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_sampler_next(htone_sampler* sampler, int64_t* out_indices, size_t capacity,
                                          size_t* out_count);

/** Makes a source of batches: rows of tensors, gathered in a sampler's order.
 *
 * @param[in] sampler retained; shared, so that taking a batch moves it.
 * @param[in] count number of tensors.
 * @param[in] tensors [count]; each of first size equal to the sampler's count, any dtype, one device; retained.
 * @param[out] out before the first batch; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_batches_create(htone_sampler* sampler, size_t count, htone_tensor* const* tensors,
                                            htone_batches** out);

/** Adds a reference.
 *
 * @param[in] batches a source of batches.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_batches_retain(htone_batches* batches);

/** Releases a reference.
 *
 * @param[in] batches optional; a source of batches.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_batches_release(htone_batches* batches);

/** Sends all further batches to a device, for data in the CPU's memory and training on a GPU. Each call of
 * htone_batches_next then also prepares the batch after it, and copies that through pinned memory while the device
 * works. The callback of a data set is therefore called one batch ahead, and again for the same batch if it failed, or
 * if the sampler was moved. Samplers and checkpoints count the batches that were taken.
 *
 * @param[in] batches borrowed.
 * @param[in] device retained. Tensors that are there already are not copied.
 * @errors INVALID_HANDLE, STATE (called by the callback of this source of batches), DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_batches_send_to(htone_batches* batches, htone_device* device);

/** Gathers the next batch; on failure the sampler does not move.
 *
 * @param[in] batches borrowed.
 * @errors INVALID_HANDLE, OUT_OF_MEMORY; of a source with a callback (dataset.h) also CALLBACK, INVALID_ARGUMENT (it
 *   left a bool other than 0 and 1) and STATE (called from the callback of this source).
 * @since 0.1
 */
HTONE_API htone_status htone_batches_next(htone_batches* batches);

/** Returns one tensor of the current batch.
 *
 * @param[in] batches borrowed.
 * @param[in] index of the tensor among those that the source was made of.
 * @param[out] out [batch, ...], dtype and row shape of the source's; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no batch was taken yet), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_batches_tensor(htone_batches* batches, size_t index, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
