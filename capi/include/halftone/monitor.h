/** @file
 * Statistics of a running model: what the record of a run (statistics.h) samples of its activations, gradients and
 * weights in one step of many. They show where a run loses bits: which layer is the first with NaN, which one
 * saturates, whose gradients are too small for their format, and which weights no update reaches.
 * docs/model-statistics.md shows how to read them.
 *
 * @code
 * htone_statistics* statistics;
 * htone_tensor_statistics found = HTONE_TENSOR_STATISTICS_INIT;
 * size_t length;
 * char name[64];
 * check(htone_statistics_create(device, NULL, &statistics));
 * check(htone_statistics_watch(statistics, model, NULL, NULL));
 * check(htone_statistics_begin_step(statistics));
 * check(htone_module_forward(model, x, NULL, &y)); // a linear layer of f32
 * check(htone_statistics_end_step(statistics, 1.0, 1));
 * check(htone_statistics_flush(statistics));
 * check(htone_statistics_tensor(statistics, 0, &found));
 * check(htone_statistics_tensor_name(statistics, 0, name, sizeof name, &length));
 * assert(found.kind == HTONE_TENSOR_ACTIVATION && found.step == 1 && found.nans == 0);
 * assert(strcmp(name, "(model)") == 0);
 * @endcode
 */
#ifndef HALFTONE_MONITOR_H
#define HALFTONE_MONITOR_H

#include "halftone/histogram.h"
#include "halftone/nn.h"
#include "halftone/statistics.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of htone_statistics_watch.
 *
 * Activations are the float results of all operations that the module's layers compute on the thread that began the
 * step, by layer and operation; a fused operation is one. Results of several forwards in a step add up. Left out are
 * views of an input, the second run of a forward that is recomputed, and results on another device than the record's.
 * Gradients are the stored ones, before the update and multiplied by the loss scale; weights are the masters, or the
 * weights of 16 bits where there is none. Both are of the optimizer's first step within a step of the record, and of
 * the parameters that have a gradient; of parameters that ranks share, the part that this rank updates. A step that is
 * recorded as a graph is not seen. An optimizer has one watch at a time: the one whose step began last.
 *
 * An error of the sampling, such as OUT_OF_MEMORY, drops the sample alone; htone_statistics_end_step returns it after
 * all else was done. That call returns STATE on another thread than that of htone_statistics_begin_step.
 */
typedef struct htone_monitor_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t parameters; /**< default 1; 0: not the weights and their updates. A sampled step needs the memory of a copy of
                           the weights in f32 */
  int64_t interval;   /**< default 100; at least 1: the steps 1, 1 + interval, 1 + 2 * interval and so on are sampled */
  int32_t gradients;  /**< default 1; 0: not the gradients */
  int32_t activations; /**< default 1; 0: not the results of the layers */
  int32_t noise;       /**< default 0; 1: the noise of the gradients, if gradients is not 0. From a sampled step to the
                            next one a copy of the gradients is kept */
  int32_t reserved;    /**< 0 */
} htone_monitor_options;

/** The defaults, to initialize a htone_monitor_options where it is declared. */
#define HTONE_MONITOR_OPTIONS_INIT \
  { sizeof(htone_monitor_options), 1, 100, 1, 1, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_monitor_options_init(htone_monitor_options* options);

/** Samples statistics of a model in the steps that begin from now on. Training has the same bits as without, and no
 * step waits for the device: the statistics of a step are in the record, and in its file, once they have arrived, at
 * the latest after htone_statistics_flush.
 *
 * @param[in] statistics the record; borrowed.
 * @param[in] module the model, or a part of it; retained.
 * @param[in] optimizer optional, NULL means activations alone; on the record's device; retained.
 * @param[in] options optional; NULL means the defaults.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (options.parameters with weights that are offloaded; options of
 *   a newer version), DEVICE, STATE (within a step).
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_watch(htone_statistics* statistics, htone_module* module,
                                              htone_optimizer* optimizer, const htone_monitor_options* options);

/** The kinds of tensors that are sampled. */
typedef enum htone_tensor_kind {
  HTONE_TENSOR_PARAMETER = 1,             /**< weights before an update, and the update */
  HTONE_TENSOR_GRADIENT = 2,              /**< the gradient of a parameter, as it is stored */
  HTONE_TENSOR_ACTIVATION = 3,            /**< the results of an operation of a layer */
  HTONE_TENSOR_KIND_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_tensor_kind;

/** The statistics of one tensor in one step. Elements count as f32, which holds every smaller float exactly. */
typedef struct htone_tensor_statistics {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_tensor_statistics) */
  htone_tensor_kind kind; /**< of the tensor */
  int64_t step;           /**< that was sampled */
  htone_dtype dtype;      /**< of the elements; HTONE_F32 for weights of BF16 with a remainder */
  int32_t has_update;     /**< 1 if the fields of the update are set: for weights, unless the step was skipped */
  int64_t place; /**< among the tensors of the step, from 0: activations in the order in which they were computed, then
                      gradients and weights */
  int64_t elements;   /**< of the tensor; activations of several forwards together */
  int64_t zeros;      /**< elements that are 0 */
  int64_t infinities; /**< elements that are infinite */
  int64_t nans;       /**< elements that are NaN */
  int64_t subnormals; /**< elements that are subnormal in their dtype, which have fewer digits */
  int64_t saturated;  /**< elements that are infinite, and, if the largest element is the largest finite number of the
                           dtype, those with that exponent: all above half of it or more. In HTONE_F8E4M3, which has no
                           infinity, the latter alone */
  double largest;     /**< finite magnitude; 0 if there is none */
  double least;       /**< finite magnitude above 0; 0 if there is none */
  double norm;        /**< Euclidean; NaN if an element is not finite */
  double scale;       /**< the factor that the stored numbers of a gradient carry: the loss scale; else 1 */
  double noise; /**< of a gradient: its variance from batch to batch, divided by the square of its mean; infinite if
                     the estimate of the mean is not above 0; NaN if it is not known */
  int64_t lost_updates; /**< weights that the update left as they were though their gradient is not 0: it was less than
                             half of the distance to the next number */
  int64_t still;        /**< weights that it left as they were, and whose gradient is 0 */
  double lost_share;    /**< lost_updates, divided by the number of weights with a gradient that is not 0 */
  double update_ratio;  /**< the norm of the update, divided by that of the weights; 0 if both are 0 */
  int64_t first_nan;    /**< the first sampled step in which an element was NaN; 0 if there was none */
  int64_t first_infinity; /**< likewise, infinite */
} htone_tensor_statistics;

/** An empty htone_tensor_statistics of the right size, to initialize one where it is declared. */
#define HTONE_TENSOR_STATISTICS_INIT                                                                                   \
  {                                                                                                                    \
    sizeof(htone_tensor_statistics), HTONE_TENSOR_PARAMETER, 0, HTONE_F32, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, \
        0.0, 0, 0, 0.0, 0.0, 0, 0                                                                                      \
  }

/** Sets struct_size and empties the other fields, as HTONE_TENSOR_STATISTICS_INIT does.
 *
 * @param[out] statistics caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_tensor_statistics_init(htone_tensor_statistics* statistics);

/** Returns how many tensors have been sampled. They are in the order in which they were first seen. Safe from any
 * thread, as are the functions below.
 *
 * @param[in] statistics borrowed.
 * @param[out] out_count counts a tensor once, however often it was sampled.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_tensor_count(htone_statistics* statistics, size_t* out_count);

/** Returns the newest statistics of a tensor.
 *
 * @param[in] statistics borrowed.
 * @param[in] index below the count.
 * @param[in,out] out_tensor struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_tensor(htone_statistics* statistics, size_t index,
                                               htone_tensor_statistics* out_tensor);

/** Returns the name of a tensor: that of the parameter, or the path of the layer, which is "(model)" for the module
 * itself.
 *
 * @param[in] statistics borrowed.
 * @param[in] index below the count.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_tensor_name(htone_statistics* statistics, size_t index, char* out_name,
                                                    size_t capacity, size_t* out_length);

/** Returns the operation that computed an activation, such as "linear"; empty for other tensors.
 *
 * @param[in] statistics borrowed.
 * @param[in] index below the count.
 * @param[out] out_op caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_op.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_tensor_op(htone_statistics* statistics, size_t index, char* out_op,
                                                  size_t capacity, size_t* out_length);

/** Returns the newest counts of a tensor's elements by magnitude.
 *
 * @param[in] statistics borrowed.
 * @param[in] index below the count.
 * @param[in,out] out_histogram struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_tensor_histogram(htone_statistics* statistics, size_t index,
                                                         htone_histogram* out_histogram);

#ifdef __cplusplus
}
#endif

#endif
