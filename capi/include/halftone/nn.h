/** @file
 * Modules: layers with parameters. The weights of new layers are FP32 and have PyTorch's default distributions; they
 * are drawn from the context's seed in the order of creation.
 *
 * @code
 * htone_module* layers[3];
 * check(htone_module_create_linear(device, 3, 8, NULL, &layers[0]));
 * check(htone_module_create_relu(&layers[1]));
 * check(htone_module_create_linear(device, 8, 2, NULL, &layers[2]));
 * check(htone_module_create_sequential(3, layers, &model));
 * check(htone_module_forward(model, x, NULL, &y)); // [2, 2]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 4);
 * @endcode
 */
#ifndef HALFTONE_NN_H
#define HALFTONE_NN_H

#include "halftone/activation.h"
#include "halftone/amp.h"
#include "halftone/parameters.h"
#include "halftone/scope.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A layer, or a composition of layers, with its parameters and buffers. */
typedef struct htone_module htone_module;

/** Makes modules without memory for their weights until the scope ends, so that a model that is larger than the memory
 * can be described: htone_fsdp_create then makes one parameter after the other, and each rank keeps its part. Weights
 * are allocated and drawn when they are first needed, as by a forward, an optimizer or a state dict. They are those
 * that the module would have had without the scope. This concerns parameters whose values the library draws, and those
 * of htone_parameter_create_new, on this thread; buffers have their memory at once.
 *
 * @param[out] out the scope; owned by the caller, who ends it with htone_scope_end.
 * @errors INVALID_ARGUMENT, STATE (inside another call of this thread that is no callback), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_deferred_init_begin(htone_scope** out);

/** Settings of htone_module_create_linear. */
typedef struct htone_linear_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t bias;         /**< not 0: with a bias; default 1 */
  htone_dtype dtype;    /**< of the weights: HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  uint32_t reserved;    /**< 0 */
} htone_linear_options;

/** The defaults, to initialize a htone_linear_options where it is declared. */
#define HTONE_LINEAR_OPTIONS_INIT \
  { sizeof(htone_linear_options), 1, HTONE_F32, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_linear_options_init(htone_linear_options* options);

/** Makes a linear layer: [..., in_features] to [..., out_features].
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] in_features,out_features at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [out_features, in_features] and "bias" [out_features], both uniform in
 *   +-1/sqrt(in_features); owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source the defaults of torch.nn.Linear (Kaiming uniform with a = sqrt(5)).
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_linear(htone_device* device, int64_t in_features, int64_t out_features,
                                                  const htone_linear_options* options, htone_module** out);

/** Makes a linear layer of parameters that other modules hold as well, such as the weight of an embedding that also
 * turns vectors into logits. A parameter that a model holds several times has several names in it and in its states,
 * with the same values; optimizers update it once, and it counts once in a summary.
 *
 * @param[in] weight [out_features, in_features]; retained.
 * @param[in] bias optional; [out_features]; retained.
 * @param[out] out the module, of kind "linear"; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_tied_linear(htone_parameter* weight, htone_parameter* bias,
                                                       htone_module** out);

/** Makes a module that applies htone_relu.
 *
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_relu(htone_module** out);

/** Makes a module that applies htone_gelu.
 *
 * @param[in] form HTONE_GELU_ERF or HTONE_GELU_TANH.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_gelu(htone_gelu_form form, htone_module** out);

/** Makes a module that applies htone_silu.
 *
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_silu(htone_module** out);

/** Makes a module that applies htone_sigmoid.
 *
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_sigmoid(htone_module** out);

/** Makes a module that applies htone_tanh.
 *
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_tanh(htone_module** out);

/** Makes a module that merges all dimensions after the first: [n, ...] to [n, m].
 *
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_flatten(htone_module** out);

/** Makes a module that turns raw data into floats: input * scale + offset, as htone_rescale, for every input that it
 * has.
 *
 * @param[in] scale,offset finite; 1/255 and 0 map bytes to [0, 1].
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_rescaling(double scale, double offset, htone_module** out);

/** Makes a module that applies others one after another. At most 64 modules may be nested, counted from the outermost
 * to the innermost, so that forward needs no more than 64 KiB of stack. A module can become deeper because a part of
 * it gets parts later: then htone_module_forward, and every call that needs names, return INVALID_ARGUMENT. A forward
 * inside 64 others of the thread also returns it. A module may be part of several others; a call that needs names, of
 * parameters, buffers or a state, counts it once per path and returns INVALID_ARGUMENT beyond 262144 modules.
 *
 * @param[in] count number of modules.
 * @param[in] modules [count]; retained; optional if count is 0. Their parameters are named by position: "0.weight".
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: more than 64 levels of nesting), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_sequential(size_t count, htone_module* const* modules, htone_module** out);

/** Adds a reference.
 *
 * @param[in] module a module.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_module_retain(htone_module* module);

/** Releases a reference.
 *
 * @param[in] module optional; a module.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_module_release(htone_module* module);

/** Runs a module. In evaluation mode several threads may run it at once. In training mode a layer writes its running
 * statistics, so the caller must order such calls.
 *
 * @param[in] module borrowed.
 * @param[in] input the first input; those that the module may have besides (forward.h) are absent; borrowed.
 * @param[in] policy optional; autocast for this call, in place of the thread's scope; borrowed.
 * @param[out] out the first output; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE, UNSUPPORTED, OUT_OF_MEMORY,
 *   as documented for the layers' operations; CALLBACK (a hook or a module of the caller failed).
 * @since 0.1
 */
HTONE_API htone_status htone_module_forward(htone_module* module, htone_tensor* input, htone_autocast_policy* policy,
                                            htone_tensor** out);

/** Returns how many parameters a module and its parts have.
 *
 * @param[in] module borrowed.
 * @param[out] out_count the number of parameter tensors.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_module_parameter_count(htone_module* module, size_t* out_count);

/** Returns one parameter, in the order of creation.
 *
 * @param[in] module borrowed.
 * @param[in] index below the parameter count.
 * @param[out] out the parameter; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_parameter(htone_module* module, size_t index, htone_parameter** out);

/** Returns a parameter's name within a module: "0.weight".
 *
 * @param[in] module borrowed.
 * @param[in] index below the parameter count.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_module_parameter_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                                   size_t* out_length);

/** Returns how many buffers a module and its parts have: tensors of their state that no optimizer updates.
 *
 * @param[in] module borrowed.
 * @param[out] out_count the number of buffers.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_module_buffer_count(htone_module* module, size_t* out_count);

/** Returns one buffer, in the order of creation.
 *
 * @param[in] module borrowed.
 * @param[in] index below the buffer count.
 * @param[out] out the live tensor: the module reads and writes the same elements; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_buffer(htone_module* module, size_t index, htone_tensor** out);

/** Returns a buffer's name within a module: "1.running_mean".
 *
 * @param[in] module borrowed.
 * @param[in] index below the buffer count.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_module_buffer_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                                size_t* out_length);

/** Sets a module and its parts to training or evaluation mode. A new module is in training mode.
 *
 * @param[in] module borrowed; no other thread may use it meanwhile.
 * @param[in] training not 0: training.
 * @errors INVALID_HANDLE, OUT_OF_MEMORY (the mode is as before).
 * @since 0.1
 */
HTONE_API htone_status htone_module_set_training(htone_module* module, int32_t training);

/** Returns the mode of a module; its parts may have other modes.
 *
 * @param[in] module borrowed.
 * @param[out] out_training 1 in training mode, 0 in evaluation mode.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_module_is_training(htone_module* module, int32_t* out_training);

/** Makes a set of all parameters of a module and its parts, with their names in it: "0.weight". A parameter that is in
 * the module twice is in the set once, under its first name.
 *
 * @param[in] module borrowed.
 * @param[out] out the set; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_parameters_create_from_module(htone_module* module, htone_parameters** out);

#ifdef __cplusplus
}
#endif

#endif
