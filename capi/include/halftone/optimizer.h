/** @file
 * Makes optimizers of six kinds. All use htone_optimizer_options; a kind reads the settings that name it in brackets,
 * and those without brackets. The formulas are those of torch.optim, and Lion's those of its paper. Arithmetic is FP32.
 *
 * @code
 * htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
 * htone_parameters *all, *biases, *others;
 * check(htone_parameters_create_from_module(model, &all));
 * check(htone_parameters_select(all, "*bias", &biases));
 * check(htone_parameters_exclude(all, "*bias", &others));
 * options.compute_dtype = HTONE_BF16; // autocast reads a BF16 copy of the weights
 * check(htone_optimizer_create_over(biases, &options, &optimizer)); // with FP32 moments
 * options.moment1_dtype = HTONE_I8;
 * options.moment2_dtype = HTONE_U8;
 * check(htone_optimizer_add_group(optimizer, others, &options)); // with 8-bit moments
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_OPTIMIZER_H
#define HALFTONE_OPTIMIZER_H

#include "halftone/nn.h"
#include "halftone/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The kinds of optimizers. */
typedef enum htone_optimizer_kind {
  /** Adam with decoupled weight decay: Loshchilov and Hutter, arXiv:1711.05101; torch.optim.AdamW */
  HTONE_OPTIMIZER_ADAMW = 1,
  /** Kingma and Ba, arXiv:1412.6980; torch.optim.Adam */
  HTONE_OPTIMIZER_ADAM = 2,
  /** gradient descent with momentum, dampening and Nesterov's form; torch.optim.SGD */
  HTONE_OPTIMIZER_SGD = 3,
  /** every element moves by the learning rate in the direction of a moment: Chen et al., arXiv:2302.06675. Use learning
   * rates three to ten times below AdamW's, and weight decays three to ten times above. */
  HTONE_OPTIMIZER_LION = 4,
  /** the gradient divided by the root of the running mean of its square; torch.optim.RMSprop. If centered is set, the
   * second moment is the variance of the gradients, which PyTorch computes as a difference; here it is never negative.
   */
  HTONE_OPTIMIZER_RMSPROP = 5,
  /** steps in proportion to the weights: Shazeer and Stern, arXiv:1804.04235; torch.optim.Adafactor. A parameter of two
   * or more dimensions is a list of matrices of the last two. Each matrix keeps an FP32 number for each row, for each
   * column, and for itself. Other parameters keep one for each element. A step of a parameter is max(epsilon2, RMS of
   * the weights) min(lr, 1 / sqrt(t)) times the gradient over the root of its variance; the RMS of this quotient is
   * bounded by clip_threshold. t counts the updates of the parameter. Sums over a parameter have an order that does not
   * depend on the number of threads. Ranks cannot share the update of a parameter. */
  HTONE_OPTIMIZER_ADAFACTOR = 6,
  HTONE_OPTIMIZER_KIND_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_optimizer_kind;

/** Settings of optimizers. A setting that its kind does not read must have its default, which is 0 and for a dtype
 * HTONE_F32. Momentum buffers and RMSprop's mean of gradients are first moments.
 *
 * Moments in 8-bit codes have an FP32 scale for each block of 256 elements, and an element that is not finite makes its
 * block NaN. Moments in 8-bit codes, BF16 first moments that keep more than 0.9 of themselves in a step, and weights
 * without a master are rounded stochastically, keyed by the context's seed, the parameter's number in the optimizer,
 * the step and the element; other BF16 first moments are rounded to nearest.
 *
 * Codes are finest near the block's largest magnitude. They reach down to 7e-7 of it, and roots of second moments to
 * 1e-6. A first moment's code is at most a 16th above the one below it; below a quarter of the largest an eighth, below
 * 8e-3 a quarter. A root of a second moment is at most a 64th above the one below it; below half of the largest a 16th,
 * below 7e-4 a quarter. A first moment below a quarter of the least code becomes 0. Weights whose gradients are 1e-2 to
 * 1e-6 of the block's largest move as far as with FP32 moments to within 2 % in the mean, with a deviation of at most
 * 8 %. Where all gradients of a block are of one size, ways differ by 6 %. docs/pytorch.md has the table. One huge
 * gradient sets the scale of its block until its moments have decayed, also where it is bounded to 2^62.
 *
 * A parameter with fewer than min_8bit_size elements, such as a bias or the weight of a norm, keeps FP32 moments where
 * the options ask for codes. The size is that of the whole parameter, also where ranks share it. Larger parameters that
 * need FP32 moments, such as embeddings, have a group of their own, as in the example above.
 */
typedef struct htone_optimizer_options {
  uint32_t struct_size;      /**< sizeof of this structure */
  htone_optimizer_kind kind; /**< of all groups of an optimizer */
  double lr;                 /**< default 1e-3, for RMSprop and Adafactor 1e-2, for Lion 1e-4; finite in FP32, at
                                  least 0 */
  double weight_decay;       /**< decoupled; for SGD, Adam and RMSprop added to the gradient; default 0, for AdamW 0.01;
                                  finite in FP32, at least 0 */
  double momentum;           /**< [SGD, RMSprop] default 0; in [0, 1) */
  double dampening;          /**< [SGD] default 0; in [0, 1] */
  double beta1;              /**< [Adam, AdamW, Lion] decay of the first moment, for Lion of the direction; default 0.9;
                                  in [0, 1) */
  double beta2;              /**< [Adam, AdamW, Lion] decay of the second moment, for Lion of its only one; default
                                  0.999, for Lion 0.99; in [0, 1) */
  double alpha;              /**< [RMSprop] decay of the running means; default 0.99; in [0, 1) */
  double epsilon;            /**< [Adam, AdamW, RMSprop] default 1e-8; above 0 in FP32 */
  double beta2_decay;    /**< [Adafactor] weight of a new square in the means: t to this power; default -0.8; finite,
                              at most 0 */
  double epsilon1;       /**< [Adafactor] least mean of row variances, least root of a variance; default 2^-23;
                              above 0 in FP32 */
  double epsilon2;       /**< [Adafactor] smallest RMS of the weights; default 1e-3; finite in FP32, at least 0 */
  double clip_threshold; /**< [Adafactor] PyTorch's d; default 1; finite, at least 1 */
  int32_t nesterov;      /**< [SGD] not 0: needs momentum above 0 and no dampening; default 0 */
  int32_t centered;      /**< [RMSprop] not 0: divides by the standard deviation of the gradient; default 0 */
  htone_dtype compute_dtype; /**< dtype of the copy for autocast: HTONE_F32 (default, no copy), HTONE_BF16, HTONE_F16 */
  htone_dtype grad_dtype;    /**< dtype of stored gradients: HTONE_F32 (default) or compute_dtype */
  htone_dtype moment1_dtype; /**< [SGD, Adam, AdamW, Lion, RMSprop] dtype of the first moment: HTONE_F32 (default),
                                  HTONE_BF16, or HTONE_I8 for 8-bit codes */
  htone_dtype moment2_dtype; /**< [Adam, AdamW, RMSprop] dtype of the second moment: HTONE_F32 (default), or HTONE_U8
                                  for 8-bit codes */
  htone_master_storage master_storage; /**< default HTONE_MASTER_FULL */
  uint32_t reserved;                   /**< 0 */
  int64_t min_8bit_size; /**< [SGD, Adam, AdamW, Lion, RMSprop] a parameter with fewer elements keeps FP32 moments in
                              place of 8-bit codes; default 4096; at least 0 */
} htone_optimizer_options;

/** AdamW's defaults, to initialize an htone_optimizer_options where it is declared. */
#define HTONE_ADAMW_OPTIONS_INIT                                                                                   \
  {                                                                                                                \
    sizeof(htone_optimizer_options), HTONE_OPTIMIZER_ADAMW, 1e-3, 0.01, 0.0, 0.0, 0.9, 0.999, 0.0, 1e-8, 0.0, 0.0, \
        0.0, 0.0, 0, 0, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, 0, 4096                     \
  }
/** Adam's defaults. */
#define HTONE_ADAM_OPTIONS_INIT                                                                                       \
  {                                                                                                                   \
    sizeof(htone_optimizer_options), HTONE_OPTIMIZER_ADAM, 1e-3, 0.0, 0.0, 0.0, 0.9, 0.999, 0.0, 1e-8, 0.0, 0.0, 0.0, \
        0.0, 0, 0, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, 0, 4096                             \
  }
/** SGD's defaults. */
#define HTONE_SGD_OPTIONS_INIT                                                                                         \
  {                                                                                                                    \
    sizeof(htone_optimizer_options), HTONE_OPTIMIZER_SGD, 1e-3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, \
        0, 0, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, 0, 4096                                   \
  }
/** Lion's defaults. */
#define HTONE_LION_OPTIONS_INIT                                                                                     \
  {                                                                                                                 \
    sizeof(htone_optimizer_options), HTONE_OPTIMIZER_LION, 1e-4, 0.0, 0.0, 0.0, 0.9, 0.99, 0.0, 0.0, 0.0, 0.0, 0.0, \
        0.0, 0, 0, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, 0, 4096                           \
  }
/** RMSprop's defaults. */
#define HTONE_RMSPROP_OPTIONS_INIT                                                                                 \
  {                                                                                                                \
    sizeof(htone_optimizer_options), HTONE_OPTIMIZER_RMSPROP, 1e-2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.99, 1e-8, 0.0, 0.0, \
        0.0, 0.0, 0, 0, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, 0, 4096                     \
  }
/** Adafactor's defaults. */
#define HTONE_ADAFACTOR_OPTIONS_INIT                                                                                \
  {                                                                                                                 \
    sizeof(htone_optimizer_options), HTONE_OPTIMIZER_ADAFACTOR, 1e-2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.8,      \
        1.1920928955078125e-7, 1e-3, 1.0, 0, 0, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, 0, 0 \
  }

/** Fills options with the defaults of a kind.
 *
 * @param[in] kind one of htone_optimizer_kind.
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_optimizer_options_init(htone_optimizer_kind kind, htone_optimizer_options* options);

/** Makes an optimizer over a module's parameters except the frozen ones, in one group. All of its state is allocated.
 *
 * @param[in] module with parameters in f32, or for HTONE_MASTER_NONE in compute_dtype. They are retained, and belong
 *   to one optimizer at a time.
 * @param[in] options optional; the kind and its settings. NULL means the defaults of AdamW.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also a setting that the kind does not read), DTYPE_MISMATCH, STATE (no
 *   parameters, or one has an optimizer), UNSUPPORTED (also Adafactor over a parameter whose update several ranks
 *   share), OUT_OF_MEMORY.
 * @precision FP32.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create(htone_module* module, const htone_optimizer_options* options,
                                              htone_optimizer** out);

/** Makes an optimizer over a set of parameters, in one group. All of its state is allocated.
 *
 * @param[in] parameters in f32, or for HTONE_MASTER_NONE in compute_dtype; retained, none of them frozen. The set may
 *   change afterwards.
 * @param[in] options optional; the kind and its settings. NULL means the defaults of AdamW.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also a setting that the kind does not read), DTYPE_MISMATCH, STATE (no
 *   parameters; one is frozen or has an optimizer), DEVICE (they are on several), UNSUPPORTED (also Adafactor over a
 *   parameter whose update several ranks share), OUT_OF_MEMORY.
 * @precision FP32.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_over(htone_parameters* parameters, const htone_optimizer_options* options,
                                                   htone_optimizer** out);

/** Adds a group of parameters with its own settings and storage, before the first step or later; its moments begin
 * then. Nothing changes if it fails.
 *
 * @param[in] optimizer borrowed.
 * @param[in] parameters as for htone_optimizer_create_over.
 * @param[in] options optional; of the optimizer's kind. NULL means the defaults of its kind, not the first group's
 *   settings.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also options of another kind), DTYPE_MISMATCH, STATE (no parameters; one is
 *   frozen, or in another group or optimizer; htone_grad_scaler_unscale ran and no step since), DEVICE, UNSUPPORTED,
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_add_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                                 const htone_optimizer_options* options);

/** Reads the settings of a group as they are now; lr is the group's own, which the schedule multiplies.
 *
 * @param[in] optimizer borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in,out] out_options struct_size set by the caller, as htone_optimizer_options_init does; the other fields are
 *   written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (no such group).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_group(htone_optimizer* optimizer, size_t index,
                                             htone_optimizer_options* out_options);

/** Changes the settings of a group, which hold from the next step on. A checkpoint saves them.
 *
 * @param[in] optimizer borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in] options all settings, such as htone_optimizer_group with some of them changed. The dtypes, master_storage
 *   and min_8bit_size must be the group's, since its storage stays. Fields behind struct_size stay as they are.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind; no such group; other storage), UNSUPPORTED.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_group(htone_optimizer* optimizer, size_t index,
                                                 const htone_optimizer_options* options);

#ifdef __cplusplus
}
#endif

#endif
