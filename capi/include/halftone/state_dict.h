/* State dicts: tensors by name, in order. A module's state is read into one and loaded from one. Concurrent reads of a
 * state dict are fine; adding is the caller's to order, and so is loading against every other use of the module.
 */
#ifndef HALFTONE_STATE_DICT_H
#define HALFTONE_STATE_DICT_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct htone_state_dict htone_state_dict;

/* Makes an empty state dict.
 *
 * [out] out: the state dict; owned by the caller.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_state_dict_create(htone_state_dict** out);

/* Adds a reference.
 *
 * [in] state_dict: a state dict.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_state_dict_retain(htone_state_dict* state_dict);

/* Gives a reference back.
 *
 * [in] state_dict: optional; a state dict.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_state_dict_release(htone_state_dict* state_dict);

/* Adds a tensor at the end.
 *
 * [in] state_dict: borrowed.
 * [in] name: 1 to 4096 bytes of UTF-8 without control characters, opaque, not yet in the state dict; copied.
 * [in] tensor: retained, without its gradient; later writes to it show here.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_state_dict_add(htone_state_dict* state_dict, const char* name, htone_tensor* tensor);

/* Answers how many tensors a state dict has.
 *
 * [in] state_dict: borrowed.
 * [out] out_count: the number of tensors.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_state_dict_count(htone_state_dict* state_dict, size_t* out_count);

/* Answers the name of one tensor.
 *
 * [in] state_dict: borrowed.
 * [in] index: below the count.
 * [out] out_name: caller's memory; always ends with a zero byte.
 * [in] capacity: bytes at out_name; 4097 suffice for names that were added here, those of a file may be longer.
 * [out] out_length: the length without the zero byte, also where the buffer is too small.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * Since: 0.1
 */
HTONE_API htone_status htone_state_dict_name(htone_state_dict* state_dict, size_t index, char* out_name,
                                             size_t capacity, size_t* out_length);

/* Answers one tensor by its place.
 *
 * [in] state_dict: borrowed.
 * [in] index: below the count.
 * [out] out: outside autograd, over the same memory as the tensor that was added; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_state_dict_tensor(htone_state_dict* state_dict, size_t index, htone_tensor** out);

/* Answers one tensor by its name.
 *
 * [in] state_dict: borrowed.
 * [in] name: of a tensor that is there.
 * [out] out: as of htone_state_dict_tensor; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (no tensor of that name), OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_state_dict_find(htone_state_dict* state_dict, const char* name, htone_tensor** out);

/* Answers a module's state: parameters by name, then buffers by name.
 *
 * [in] module: borrowed.
 * [out] out: of the live tensors: master weights and buffers, so that training shows in them; weights that an optimizer
 *   has split are joined to f32, which is a copy. Owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_module_state_dict(htone_module* module, htone_state_dict** out);

typedef struct htone_load_options {
  uint32_t struct_size;
  int32_t strict; /* not 0: every name of the module must be in the state dict and the reverse; default 1 */
} htone_load_options;

/* Fills options with the defaults.
 *
 * [out] options: caller's memory.
 * Errors: INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_load_options_init(htone_load_options* options);

/* Copies tensors into a module's parameters and buffers of the same names, all of them or none: master weights, and the
 * low-precision copies that an optimizer keeps. Floats convert to the module's dtype, integers likewise; moments of an
 * optimizer and gradients stay.
 *
 * [in] module: borrowed; no other thread uses it meanwhile.
 * [in] state_dict: tensors on any device, of the module's shapes; borrowed.
 * [in] options: optional; NULL means the defaults.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (strict, and names are missing or unexpected), SHAPE_MISMATCH,
 *   DTYPE_MISMATCH (a float for an integer or the reverse), UNSUPPORTED, OUT_OF_MEMORY. Ten names at most are told.
 * Since: 0.1
 */
HTONE_API htone_status htone_module_load_state_dict(htone_module* module, htone_state_dict* state_dict,
                                                    const htone_load_options* options);

/* Answers what a module's state has and a state dict lacks: what a load that is not strict leaves as it is.
 *
 * [in] module: borrowed.
 * [in] state_dict: borrowed.
 * [out] out: the module's tensors, as of htone_module_state_dict; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_module_missing_state(htone_module* module, htone_state_dict* state_dict,
                                                  htone_state_dict** out);

/* Answers what a state dict has and a module's state lacks: what a load that is not strict passes over.
 *
 * [in] module: borrowed.
 * [in] state_dict: borrowed.
 * [out] out: the tensors of state_dict; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_module_unexpected_state(htone_module* module, htone_state_dict* state_dict,
                                                     htone_state_dict** out);

#ifdef __cplusplus
}
#endif

#endif
