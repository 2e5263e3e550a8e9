/** @file
 * State dicts: tensors by name, in order. A module's state is read into one and loaded from one. Concurrent reads of a
 * state dict are fine; the caller must synchronize additions, and a load with every other use of the module.
 *
 * @code
 * htone_state_dict* state;
 * htone_module* other;
 * check(htone_module_create_linear(device, 3, 2, NULL, &other));
 * check(htone_module_state_dict(model, &state)); // "weight" and "bias"
 * check(htone_module_load_state_dict(other, state, NULL));
 * check(htone_state_dict_find(state, "weight", &y));
 * check(htone_tensor_numel(y, &count));
 * assert(count == 6);
 * @endcode
 */
#ifndef HALFTONE_STATE_DICT_H
#define HALFTONE_STATE_DICT_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Tensors by name, in order. */
typedef struct htone_state_dict htone_state_dict;

/** Makes an empty state dict.
 *
 * @param[out] out the state dict; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_create(htone_state_dict** out);

/** Adds a reference.
 *
 * @param[in] state_dict a state dict.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_retain(htone_state_dict* state_dict);

/** Releases a reference.
 *
 * @param[in] state_dict optional; a state dict.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_state_dict_release(htone_state_dict* state_dict);

/** Adds a tensor at the end.
 *
 * @param[in] state_dict borrowed.
 * @param[in] name 1 to 4096 bytes of UTF-8 without control characters, opaque, not yet in the state dict; copied.
 * @param[in] tensor retained, without its gradient; later writes to it change the state dict, too.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_add(htone_state_dict* state_dict, const char* name, htone_tensor* tensor);

/** Returns how many tensors a state dict has.
 *
 * @param[in] state_dict borrowed.
 * @param[out] out_count the number of tensors.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_count(htone_state_dict* state_dict, size_t* out_count);

/** Returns the name of one tensor.
 *
 * @param[in] state_dict borrowed.
 * @param[in] index below the count.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name; 4097 suffice for names that were added here, those of a file may be longer.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_name(htone_state_dict* state_dict, size_t index, char* out_name,
                                             size_t capacity, size_t* out_length);

/** Returns one tensor by its index.
 *
 * @param[in] state_dict borrowed.
 * @param[in] index below the count.
 * @param[out] out outside autograd, over the same memory as the tensor that was added; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY; of htone_safetensors_open also IO, FORMAT.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_tensor(htone_state_dict* state_dict, size_t index, htone_tensor** out);

/** Returns one tensor by its name.
 *
 * @param[in] state_dict borrowed.
 * @param[in] name of a tensor in the state dict.
 * @param[out] out as of htone_state_dict_tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (no tensor of that name), OUT_OF_MEMORY; of htone_safetensors_open also IO,
 *   FORMAT.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_find(htone_state_dict* state_dict, const char* name, htone_tensor** out);

/** Returns a module's state: parameters by name, then buffers by name.
 *
 * @param[in] module borrowed.
 * @param[out] out the live tensors: master weights and buffers, which change with training; weights that an optimizer
 *   has split are joined to f32, which is a copy. Owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_state_dict(htone_module* module, htone_state_dict** out);

/** Settings of htone_module_load_state_dict. */
typedef struct htone_load_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t strict;       /**< not 0: every name of the module must be in the state dict and the reverse; default 1 */
} htone_load_options;

/** The defaults, to initialize a htone_load_options where it is declared. */
#define HTONE_LOAD_OPTIONS_INIT \
  { sizeof(htone_load_options), 1 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_load_options_init(htone_load_options* options);

/** Copies tensors into a module's parameters and buffers of the same names, all of them or none: master weights, and
 * the low-precision copies that an optimizer keeps. Floats convert to the module's dtype, integers likewise; moments
 * of an optimizer and gradients do not change. A parameter that the module has under several names, as a tied weight,
 * needs one of them. The weight of a transformer's tied head may also be there as lm_head.weight, beside wte.weight or
 * in its place. Several names of one parameter must have equal values, bitwise. htone_module_load_file
 * (safetensors.h) loads a file with less memory: this function holds all tensors of an opened file at once.
 *
 * @param[in] module borrowed; no other thread may use it meanwhile.
 * @param[in] state_dict tensors on any device, of the module's shapes; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (strict, and names are missing or unexpected; two names of one
 *   parameter with other values), SHAPE_MISMATCH, DTYPE_MISMATCH (a float for an integer or the reverse), UNSUPPORTED,
 *   OUT_OF_MEMORY. The message has at most ten names.
 * @since 0.1
 */
HTONE_API htone_status htone_module_load_state_dict(htone_module* module, htone_state_dict* state_dict,
                                                    const htone_load_options* options);

/** Returns the tensors of a module's state that a state dict lacks: a load that is not strict does not change them.
 *
 * @param[in] module borrowed.
 * @param[in] state_dict borrowed.
 * @param[out] out the module's tensors, as in htone_module_state_dict; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_missing_state(htone_module* module, htone_state_dict* state_dict,
                                                  htone_state_dict** out);

/** Returns the tensors of a state dict that a module's state lacks: a load that is not strict ignores them.
 *
 * @param[in] module borrowed.
 * @param[in] state_dict borrowed.
 * @param[out] out the tensors of state_dict; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_unexpected_state(htone_module* module, htone_state_dict* state_dict,
                                                     htone_state_dict** out);

#ifdef __cplusplus
}
#endif

#endif
