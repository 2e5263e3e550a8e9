/** @file
 * Introspection: kinds, children and paths of modules, parameters by name, and texts that describe models and tensors.
 * A path joins the names from a module to one inside it with dots: "encoder.0.fc1". The message of an error inside a
 * module's forward names the layer by its path and kind.
 *
 * @code
 * char text[200];
 * size_t length;
 * htone_parameter* weight;
 * check(htone_tensor_format(x, text, sizeof text, &length));
 * assert(strstr(text, "6") != NULL);
 * check(htone_module_kind(model, text, sizeof text, &length));
 * assert(strcmp(text, "linear") == 0);
 * check(htone_module_find_parameter(model, "weight", &weight));
 * @endcode
 */
#ifndef HALFTONE_INTROSPECTION_H
#define HALFTONE_INTROSPECTION_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns a module's kind: the name of the function that makes it, without "htone_module_create_": "linear".
 * Parts that no function makes alone are of the kinds "feed_forward" and "transformer_stack" (transformer.h).
 *
 * @param[in] module borrowed.
 * @param[out] out_kind caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_kind.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_module_kind(htone_module* module, char* out_kind, size_t capacity, size_t* out_length);

/** Returns the number of children of a module: 0 for a layer.
 *
 * @param[in] module borrowed.
 * @param[out] out_count the number of direct children.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_module_child_count(htone_module* module, size_t* out_count);

/** Returns a child.
 *
 * @param[in] module borrowed.
 * @param[in] index below the child count.
 * @param[out] out the child itself, not a copy; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_child(htone_module* module, size_t index, htone_module** out);

/** Returns a child's name: its position in a sequential module, unless that has names.
 *
 * @param[in] module borrowed.
 * @param[in] index below the child count.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_module_child_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                               size_t* out_length);

/** Returns the module at a path.
 *
 * @param[in] module at which the path begins; borrowed.
 * @param[in] path names with dots between them; "" is module itself.
 * @param[out] out the module itself, not a copy; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: there is no module at the path), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_find(htone_module* module, const char* path, htone_module** out);

/** Runs the module at a path: htone_module_find and htone_module_forward without a policy, in one call. It is meant for
 * the forward of a module of the caller's (custom.h).
 *
 * @param[in] module at which the path begins; borrowed.
 * @param[in] path as in htone_module_find.
 * @param[in] input of the module at the path; borrowed.
 * @param[out] out the result; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: there is no module at the path), and those of htone_module_forward:
 *   SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE, UNSUPPORTED, OUT_OF_MEMORY, CALLBACK.
 * @since 0.1
 */
HTONE_API htone_status htone_module_forward_child(htone_module* module, const char* path, htone_tensor* input,
                                                  htone_tensor** out);

/** Returns a parameter by its name within a module.
 *
 * @param[in] module borrowed.
 * @param[in] name as htone_module_parameter_name writes it: "0.weight".
 * @param[out] out the parameter; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: there is no parameter of the name), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_find_parameter(htone_module* module, const char* name, htone_parameter** out);

/** Returns the name that a parameter was made with: "weight".
 *
 * @param[in] parameter borrowed.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_name(htone_parameter* parameter, char* out_name, size_t capacity,
                                            size_t* out_length);

/** Returns a parameter's shape.
 *
 * @param[in] parameter borrowed.
 * @param[out] out_shape [*out_ndim] sizes; optional if capacity is 0.
 * @param[in] capacity entries at out_shape; HTONE_MAX_NDIM always suffices.
 * @param[out] out_ndim the number of dimensions, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_shape(htone_parameter* parameter, int64_t* out_shape, int32_t capacity,
                                             int32_t* out_ndim);

/** Returns the dtype of a parameter's weights: f32 for split ones, which are bf16 with a remainder.
 *
 * @param[in] parameter borrowed.
 * @param[out] out_dtype the dtype.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_dtype(htone_parameter* parameter, htone_dtype* out_dtype);

/** Returns a parameter's gradient.
 *
 * @param[in] parameter borrowed.
 * @param[out] out the gradient, shape of the parameter; it changes with the next backward, also after it is zeroed;
 *   owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (there is none, or it is invalid since a failed backward),
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_grad(htone_parameter* parameter, htone_tensor** out);

/** Makes a module that applies others one after another, each with its own name.
 *
 * @param[in] count number of modules.
 * @param[in] names [count]; each UTF-8 without a dot, and used once; optional if count is 0.
 * @param[in] modules [count]; retained; optional if count is 0. Their names are part of the names of parameters:
 *   "fc1.weight".
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: more than 64 levels of nesting), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_named_sequential(size_t count, const char* const* names,
                                                            htone_module* const* modules, htone_module** out);

/** Writes a table of a module: a line for each layer in it, at any depth, with its path, kind, own parameters, their
 * number of elements and bytes, and a line of totals. A parameter that is held several times counts once in the
 * totals. Bytes are those of the weights, with an optimizer's 16-bit copy, without gradients and moments.
 *
 * @param[in] module borrowed.
 * @param[out] out_text caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_text.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: more than 262144 modules, each counted once per path),
 *   OUT_OF_MEMORY, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_module_summary(htone_module* module, char* out_text, size_t capacity, size_t* out_length);

/** Writes a tensor as PyTorch prints it: "tensor([[1., 2.], [3., 4.]], f32)" with a line for each row. If there are
 * more than 1000 elements, each dimension shows its first three and last three. Numbers have four digits after the
 * point; whole numbers end with the point. All have the same form, that of 1.2346e-05 if their sizes differ by more
 * than 1000 times. Waits for the device.
 *
 * @param[in] tensor any shape and dtype; borrowed.
 * @param[out] out_text caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_text.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DEVICE, OUT_OF_MEMORY, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_format(htone_tensor* tensor, char* out_text, size_t capacity, size_t* out_length);

#ifdef __cplusplus
}
#endif

#endif
