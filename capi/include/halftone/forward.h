/** @file
 * Modules with several inputs and outputs: a mask, a second sequence or a state is an input as any other. A module
 * has a fixed number of inputs, of which those from some position on may be absent, and returns a fixed number of
 * outputs, of which the first is its main result. htone_module_forward (nn.h) is the short form for one input and the
 * first output.
 *
 * @code
 * const int64_t shape[] = {2, 3, 3}; // batch, time, features
 * htone_module* lstm;
 * htone_tensor *sequence, *outputs[3]; // of each time; the last hidden states and cells
 * check(htone_tensor_create_ones(device, HTONE_F32, 3, shape, &sequence));
 * check(htone_module_create_lstm(device, 3, 4, NULL, &lstm));
 * check(htone_module_forward_n(lstm, 1, &sequence, NULL, 3, outputs));
 * check(htone_tensor_numel(outputs[1], &count)); // [1, 2, 4]
 * assert(count == 8);
 * @endcode
 */
#ifndef HALFTONE_FORWARD_H
#define HALFTONE_FORWARD_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The largest number of inputs, and of outputs, of a module. */
#define HTONE_MAX_MODULE_TENSORS 64

/** One forward of a module, as a callback sees it: a custom module's forward (custom.h) or a hook (hooks.h). */
typedef struct htone_forward_call {
  uint32_t struct_size;         /**< size of this structure in the library */
  uint32_t reserved;            /**< 0 */
  size_t input_count;           /**< the number of inputs that the module has, with those that are absent */
  size_t output_count;          /**< the number of outputs that the module gives */
  htone_tensor* const* inputs;  /**< [input_count]: NULL if an input is absent */
  htone_tensor* const* outputs; /**< [output_count] in a forward hook, NULL in other callbacks */
  htone_tensor** out_tensors;   /**< NULL in every place. The callback stores references here, which the library
                                   releases, also if the callback fails: [output_count] outputs of a custom module or a
                                   forward hook, [input_count] inputs of a pre-hook */
} htone_forward_call;

/** Runs a module with several inputs or outputs. A module of modules one after another gives all inputs to its first
 * module and returns the outputs of its last; each module between reads the first output of the one before it.
 *
 * @param[in] module borrowed.
 * @param[in] input_count number of inputs; those that the module has beyond these are absent.
 * @param[in] inputs [input_count]; optional where the module allows it: then NULL means an absent input; borrowed.
 * @param[in] policy optional; autocast for this call, in place of the thread's scope; borrowed.
 * @param[in] output_count number of outputs wanted, from the first on; at least 1.
 * @param[out] out_outputs [output_count]; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: counts that the module does not have, and a NULL for an input
 *   that it requires), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE, UNSUPPORTED, OUT_OF_MEMORY, as documented for the
 *   module's operations; CALLBACK (a hook or a module of the caller failed).
 * @since 0.1
 */
HTONE_API htone_status htone_module_forward_n(htone_module* module, size_t input_count, htone_tensor* const* inputs,
                                              htone_autocast_policy* policy, size_t output_count,
                                              htone_tensor** out_outputs);

/** Returns how many inputs a module has.
 *
 * @param[in] module borrowed.
 * @param[out] out_required the number of inputs that must be present: the first ones.
 * @param[out] out_count the number of all inputs.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_module_input_count(htone_module* module, size_t* out_required, size_t* out_count);

/** Returns how many outputs a module gives.
 *
 * @param[in] module borrowed.
 * @param[out] out_count the number of outputs.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_module_output_count(htone_module* module, size_t* out_count);

#ifdef __cplusplus
}
#endif

#endif
