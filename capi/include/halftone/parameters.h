/** @file
 * Parameters and sets of them. A parameter is a tensor that training changes, with its gradient and the state that an
 * optimizer keeps for it. A set is an ordered list of parameters by name, for optimizers and averages; a set that was
 * made from another does not change with it. One thread at a time may use a set or the settings of a parameter.
 *
 * @code
 * htone_parameters *all, *weights;
 * size_t size;
 * check(htone_parameters_create_from_module(model, &all));
 * check(htone_parameters_select(all, "*weight", &weights));
 * check(htone_parameters_count(weights, &size));
 * assert(size == 1);
 * check(htone_optimizer_create_over(weights, NULL, &optimizer)); // the bias is left out
 * @endcode
 */
#ifndef HALFTONE_PARAMETERS_H
#define HALFTONE_PARAMETERS_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor that training changes, with its gradient. */
typedef struct htone_parameter htone_parameter;
/** An ordered set of parameters, each with a name. */
typedef struct htone_parameters htone_parameters;

/** Makes a parameter over a tensor of the caller. Its elements are the FP32 master weights from now on, and their
 * memory does not move: with htone_tensor_from_buffer or DLPack, an optimizer's step writes the caller's own array.
 * Such weights keep their master: only HTONE_MASTER_FULL is supported.
 *
 * @param[in] name of 1 to 4096 bytes of UTF-8 without control characters; copied.
 * @param[in] tensor f32, row-major, not read-only, not requiring a gradient; its memory is retained. A caller that
 *   writes this memory itself must call htone_tensor_mark_written.
 * @param[out] out the parameter; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (not row-major), DTYPE_MISMATCH, STATE (read-only; requires a gradient),
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_create(const char* name, htone_tensor* tensor, htone_parameter** out);

/** Makes a parameter of zeros in memory of the library, as modules do; htone_init_normal and the other functions of
 * init.h fill htone_parameter_tensor's result. Every master_storage of optimizers is supported.
 *
 * @param[in] device borrowed.
 * @param[in] name of 1 to 4096 bytes of UTF-8 without control characters; copied.
 * @param[in] dtype of the weights: HTONE_F32, HTONE_F64, HTONE_F16 or HTONE_BF16. Optimizers accept f32 weights, and
 *   16-bit weights under HTONE_MASTER_NONE.
 * @param[in] ndim number of dimensions, at most HTONE_MAX_NDIM.
 * @param[in] shape [ndim] sizes; optional if ndim is 0.
 * @param[out] out the parameter; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_create_new(htone_device* device, const char* name, htone_dtype dtype,
                                                  int32_t ndim, const int64_t* shape, htone_parameter** out);

/** Sets a parameter's gradient, in place of the one that it has, valid or not. Norms, the gradient scaler and the
 * optimizer's step read this memory in place and never write it, so a caller that rewrites the memory sets the
 * gradient once. A later backward or htone_parameter_accumulate_grad adds to a copy. Do not call it between
 * htone_grad_scaler_unscale and the step.
 *
 * @param[in] parameter borrowed.
 * @param[in] gradient f32, f16 or bf16, shape of parameter; multiplied by the scale if a gradient scaler steps. Its
 *   memory is retained until another gradient is set or the gradient is zeroed. Copied if it is not row-major.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE (frozen), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_set_grad(htone_parameter* parameter, htone_tensor* gradient);

/** Adds to a parameter's gradient in memory of the library, as backward does; writes it if there is none. Do not add
 * gradients between htone_grad_scaler_unscale and the step: its check and its norm apply to the gradients before.
 *
 * @param[in] parameter borrowed.
 * @param[in] gradient f32, f16 or bf16, shape of parameter; borrowed.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE (frozen; its gradient is invalid since a
 *   failed backward), OUT_OF_MEMORY.
 * @precision one FP32 addition, rounded to the gradient's dtype.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_accumulate_grad(htone_parameter* parameter, htone_tensor* gradient);

/** Adds a reference.
 *
 * @param[in] parameter a parameter.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_retain(htone_parameter* parameter);

/** Releases a reference.
 *
 * @param[in] parameter optional; a parameter.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_parameter_release(htone_parameter* parameter);

/** Returns the leaf tensor that represents a parameter in operations: its master weights, or the bf16 part of weights
 * that an optimizer has split. A leaf, or a graph recorded from it, may outlive the parameter: then the leaf gets the
 * gradient, and autocast casts the leaf like every tensor.
 *
 * @param[in] parameter borrowed.
 * @param[out] out the leaf; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_tensor(htone_parameter* parameter, htone_tensor** out);

/** Returns a parameter's values in a dtype: the master, the copy that the optimizer keeps, or a fresh cast.
 *
 * @param[in] parameter borrowed.
 * @param[in] dtype f64, f32, f16 or bf16.
 * @param[out] out outside autograd, only to be read; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_read(htone_parameter* parameter, htone_dtype dtype, htone_tensor** out);

/** Freezes a parameter, or lets it train again. A frozen one requires no gradient: leaves that are taken from now on
 * are constants, the memory of its gradient is released, and gradients from earlier graphs are dropped. An optimizer
 * that has it does not change it until it is free again; optimizers that are made later from a module leave it out.
 *
 * @param[in] parameter borrowed; not while a backward runs.
 * @param[in] frozen not 0: frozen.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_set_frozen(htone_parameter* parameter, int32_t frozen);

/** Returns whether a parameter is frozen.
 *
 * @param[in] parameter borrowed.
 * @param[out] out_frozen 1 or 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_parameter_is_frozen(htone_parameter* parameter, int32_t* out_frozen);

/** Makes an empty set.
 *
 * @param[out] out the set; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_create(htone_parameters** out);

/** Adds a parameter at the end of a set, under the name that it was made with.
 *
 * @param[in] parameters a set; borrowed.
 * @param[in] parameter retained.
 * @errors INVALID_HANDLE, STATE (it is in the set already), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_add(htone_parameters* parameters, htone_parameter* parameter);

/** Makes a set of the parameters whose name matches a pattern, in the same order.
 *
 * @param[in] parameters a set; borrowed.
 * @param[in] pattern '*' matches any number of bytes, also none, and dots; '?' matches one byte; every other byte
 *   matches itself.
 * @param[out] out the set, which may be empty; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_select(htone_parameters* parameters, const char* pattern,
                                               htone_parameters** out);

/** Makes a set of the parameters whose name does not match a pattern, in the same order.
 *
 * @param[in] parameters a set; borrowed.
 * @param[in] pattern as in htone_parameters_select.
 * @param[out] out the set, which may be empty; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_exclude(htone_parameters* parameters, const char* pattern,
                                                htone_parameters** out);

/** Returns how many parameters are in a set.
 *
 * @param[in] parameters a set; borrowed.
 * @param[out] out_count the number of parameters.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_count(htone_parameters* parameters, size_t* out_count);

/** Returns one parameter of a set.
 *
 * @param[in] parameters a set; borrowed.
 * @param[in] index below the count.
 * @param[out] out the parameter; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_at(htone_parameters* parameters, size_t index, htone_parameter** out);

/** Returns a parameter's name in a set: "0.weight".
 *
 * @param[in] parameters a set; borrowed.
 * @param[in] index below the count.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_name(htone_parameters* parameters, size_t index, char* out_name,
                                             size_t capacity, size_t* out_length);

/** Adds a reference.
 *
 * @param[in] parameters a set.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_retain(htone_parameters* parameters);

/** Releases a reference.
 *
 * @param[in] parameters optional; a set.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_parameters_release(htone_parameters* parameters);

#ifdef __cplusplus
}
#endif

#endif
