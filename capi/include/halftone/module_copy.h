/** @file
 * Copies of modules.
 *
 * @code
 * htone_module* target;
 * check(htone_module_copy(model, &target));
 * check(htone_module_forward(target, x, NULL, &y));
 * check(htone_sum(y, 0, NULL, 0, &y));
 * check(htone_sub(y, loss, &y)); // loss is the sum of model's output
 * check(htone_tensor_item(y, &number));
 * assert(number == 0);
 * @endcode
 */
#ifndef HALFTONE_MODULE_COPY_H
#define HALFTONE_MODULE_COPY_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a module of the same layers with parameters and buffers of its own, which have the values of now. The copy has
 * the modes, marks (recompute.h) and names of the layers, and frozen parameters stay frozen. It has no gradients, hooks
 * or optimizer. Weights that an optimizer has split are joined to f32; those without a master stay in their 16 bits. A
 * parameter or layer that the module holds several times is also one in the copy.
 *
 * @param[in] module borrowed; no other thread changes it meanwhile.
 * @param[out] out the copy; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (a module of htone_module_create_custom is in it; the message
 *   names its place), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_copy(htone_module* module, htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
