/** @file
 * Data sets that are not rows of tensors: samples from a function of the caller's, windows over a sequence of tokens,
 * and the two parts of a data set that training and validation use. data.h has samplers and batches.
 *
 * @code
 * htone_sampler_options options = HTONE_SAMPLER_OPTIONS_INIT;
 * htone_sampler* sampler;
 * htone_batches* batches;
 * htone_tensor* tokens;
 * check(htone_arange(device, HTONE_I64, 0, 100, 1, &tokens));
 * options.batch_size = 4;
 * check(htone_window_count(100, 8, 1, &options.count));
 * check(htone_sampler_create(&options, &sampler));
 * check(htone_batches_create_windows(sampler, tokens, 8, 1, &batches));
 * check(htone_batches_next(batches));
 * check(htone_batches_tensor(batches, 0, &y)); // [4, 8]; tensor 1 has the token after each
 * check(htone_tensor_numel(y, &count));
 * assert(count == 4 * 8);
 * @endcode
 */
#ifndef HALFTONE_DATASET_H
#define HALFTONE_DATASET_H

#include "halftone/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The type of a sample's row in one tensor of a batch. */
typedef struct htone_row_type {
  htone_dtype dtype; /**< of the elements */
  int32_t ndim;      /**< dimensions of a sample's row, 0 to 7; 0: one number for each sample */
  int64_t shape[8];  /**< its first ndim entries are the sizes of the row */
} htone_row_type;

/** Fills a batch: row i of out_rows[k] is what tensor k has for sample indices[i]. The memory at out_rows[k] is
 * contiguous, [index_count, row shape k], and unset. A bool is 0 or 1. Anything but HTONE_OK stops the call that asked,
 * and the sampler stays where it was.
 */
typedef htone_status (*htone_load_fn)(size_t index_count, const int64_t* indices, void* const* out_rows, void* user);

/** Makes a source of batches that a function of the caller's fills. htone_batches_next calls it, on its thread, with
 * the sampler's indices; no lock is held.
 *
 * @param[in] device of the tensors; borrowed. Another one than the CPU gets a copy of the rows.
 * @param[in] sampler retained; shared, so that taking a batch moves it.
 * @param[in] count number of tensors in a batch; at least 1.
 * @param[in] rows [count]; the tensors' dtypes and the shapes of their rows; copied.
 * @param[in] callback fills the rows; must not ask this source for a batch.
 * @param[in] user handed to callback; optional.
 * @param[in] destroy called once with `user` after the last use of the source, from any thread; optional. On failure
 *   it does not run.
 * @param[out] out before the first batch; owned by the caller. htone_batches_next then returns CALLBACK where the
 *   function fails, with its status as the native code, and INVALID_ARGUMENT for a bool other than 0 and 1.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_batches_create_callback(htone_device* device, htone_sampler* sampler, size_t count,
                                                     const htone_row_type* rows, htone_load_fn callback, void* user,
                                                     void (*destroy)(void* user), htone_batches** out);

/** Returns how many windows of so many tokens there are, each followed by at least one token: the sampler's count for
 * htone_batches_create_windows.
 *
 * @param[in] token_count tokens in the sequence; at least 0.
 * @param[in] length tokens in a window; at least 1.
 * @param[in] stride tokens from the beginning of a window to that of the next; at least 1.
 * @param[out] out_count the number of windows; 0 where the sequence is too short for one.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_window_count(int64_t token_count, int64_t length, int64_t stride, int64_t* out_count);

/** Makes a source of batches of windows over one sequence of tokens. Sample i are the tokens from i stride on. A batch
 * has two tensors: the windows, and their targets, which are the windows moved by one token.
 *
 * @param[in] sampler retained; shared, so that taking a batch moves it. Its count is that of htone_window_count.
 * @param[in] tokens [n], i64, i32, i16, i8 or u8; retained.
 * @param[in] length tokens in a window; at least 1.
 * @param[in] stride tokens from the beginning of a window to that of the next; at least 1. Below length the windows
 *   overlap.
 * @param[out] out before the first batch; its tensors are [batch, length], i64; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_batches_create_windows(htone_sampler* sampler, htone_tensor* tokens, int64_t length,
                                                    int64_t stride, htone_batches** out);

/** The two parts of a data set. */
typedef enum htone_data_part {
  HTONE_PART_TRAINING = 1,              /**< the samples to train on */
  HTONE_PART_VALIDATION = 2,            /**< the samples to measure on */
  HTONE_DATA_PART_MAX_ENUM = 0x7FFFFFFF /**< not a part: fixes the size of the type */
} htone_data_part;

/** Makes a sampler over one of the two parts of a data set. A random part of the samples is for validation; the others
 * are for training. The part depends on (split_seed, count, validation_share) alone. Each part has a sampler of its
 * own, which may have other options, but must have the same count.
 *
 * @param[in] options not optional, for it names count, of the whole data set, and batch_size.
 * @param[in] part HTONE_PART_TRAINING or HTONE_PART_VALIDATION.
 * @param[in] validation_share share of the samples that are for validation, in [0, 1]; their number is rounded down.
 * @param[in] split_seed any number; of the split alone.
 * @param[out] out the sampler, before the first batch of epoch 0; owned by the caller. Its indices are those of the
 *   whole data set, so that both samplers serve sources of batches over it.
 * @errors INVALID_ARGUMENT (also for a part too small for a batch), UNSUPPORTED, OUT_OF_MEMORY.
 * @source Fisher-Yates shuffle on Philox4x32-10.
 * @since 0.1
 */
HTONE_API htone_status htone_sampler_create_part(const htone_sampler_options* options, htone_data_part part,
                                                 double validation_share, uint64_t split_seed, htone_sampler** out);

#ifdef __cplusplus
}
#endif

#endif
