/** @file
 * The safetensors format beyond whole files: in memory, tensor by tensor, and with texts about the tensors.
 * checkpoint.h has htone_safetensors_save and _load, which write and read the texts of a state dict, too.
 *
 * @code
 * char file[1000];
 * size_t length;
 * htone_state_dict *state, *loaded;
 * check(htone_state_dict_create(&state));
 * check(htone_state_dict_add(state, "x", x));
 * check(htone_state_dict_set_text(state, "format", "pt"));
 * check(htone_safetensors_save_memory(state, file, sizeof file, &length));
 * check(htone_safetensors_load_memory(device, file, length, &loaded));
 * check(htone_state_dict_find(loaded, "x", &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[5] == 6);
 * @endcode
 */
#ifndef HALFTONE_SAFETENSORS_H
#define HALFTONE_SAFETENSORS_H

#include "halftone/state_dict.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Writes tensors in the safetensors format to the caller's memory, with the texts of the state dict.
 *
 * @param[in] state_dict borrowed.
 * @param[out] out_data caller's memory.
 * @param[in] capacity bytes at out_data; 0 asks for the length.
 * @param[out] out_length bytes of the file, also where the memory is too small (then nothing is written).
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL, FORMAT (names of more than 100 MB; a tensor named
 *   __metadata__), OUT_OF_MEMORY.
 * @source https://github.com/huggingface/safetensors
 * @since 0.1
 */
HTONE_API htone_status htone_safetensors_save_memory(htone_state_dict* state_dict, void* out_data, size_t capacity,
                                                     size_t* out_length);

/** Reads all tensors and texts of a file in the safetensors format that is in memory.
 *
 * @param[in] device of the tensors; borrowed.
 * @param[in] data the file's bytes; copied.
 * @param[in] size their number.
 * @param[out] out every tensor of the file, in the order of their bytes; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, FORMAT and UNSUPPORTED (as htone_safetensors_load), OUT_OF_MEMORY.
 * @source https://github.com/huggingface/safetensors
 * @since 0.1
 */
HTONE_API htone_status htone_safetensors_load_memory(htone_device* device, const void* data, size_t size,
                                                     htone_state_dict** out);

/** Opens a file in the safetensors format without reading its tensors. htone_state_dict_count and _name list them.
 * htone_state_dict_find and _tensor read one each time that they are called, into a new tensor; they return IO or
 * FORMAT if the file cannot be read, was cut off, or has a bool other than 0 and 1. The file stays open as long as the
 * state dict lives. A checkpoint saves such a state dict, but cannot load into it.
 *
 * @param[in] device of the tensors; borrowed.
 * @param[in] path of the file, UTF-8.
 * @param[out] out the tensors of the file, in the order of their bytes, and its texts; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO (errno in native_code), FORMAT and UNSUPPORTED (as
 *   htone_safetensors_load), OUT_OF_MEMORY.
 * @source https://github.com/huggingface/safetensors
 * @since 0.1
 */
HTONE_API htone_status htone_safetensors_open(htone_device* device, const char* path, htone_state_dict** out);

/** Loads a file in the safetensors format into a module's parameters and buffers, as htone_module_load_state_dict does,
 * but from tensor to tensor: beside the module this needs memory for one tensor, and no state dict of the whole file is
 * made. First the header of the file is compared with the module, and tied weights that the file has twice with each
 * other. After an error until then nothing has changed. Then each tensor is read into its place. If the disk fails
 * only then, or another process changes the file, the module is a mix of two: the message of that error says that the
 * module was partly loaded.
 *
 * @param[in] module with at least one parameter or buffer; borrowed; no other thread may use it meanwhile.
 * @param[in] path of the file, UTF-8.
 * @param[in] options optional; NULL means the defaults.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (strict, and names are missing or unexpected; two names of one parameter
 *   with other values), SHAPE_MISMATCH, DTYPE_MISMATCH, IO (errno in native_code), FORMAT and UNSUPPORTED (as
 *   htone_safetensors_load), DEVICE, OUT_OF_MEMORY.
 * @source https://github.com/huggingface/safetensors
 * @since 0.1
 */
HTONE_API htone_status htone_module_load_file(htone_module* module, const char* path,
                                              const htone_load_options* options);

/** Sets a text of a state dict, which a safetensors file keeps under __metadata__. A text that the key had is replaced.
 *
 * @param[in] state_dict borrowed.
 * @param[in] key 1 to 4096 bytes of UTF-8 without control characters; copied.
 * @param[in] value UTF-8; copied.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_set_text(htone_state_dict* state_dict, const char* key, const char* value);

/** Returns how many texts a state dict has.
 *
 * @param[in] state_dict borrowed.
 * @param[out] out_count the number of texts.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_text_count(htone_state_dict* state_dict, size_t* out_count);

/** Returns the key of one text.
 *
 * @param[in] state_dict borrowed.
 * @param[in] index below the number of texts.
 * @param[out] out_key caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_key.
 * @param[out] out_length the length without the zero byte, also where the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_text_key(htone_state_dict* state_dict, size_t index, char* out_key,
                                                 size_t capacity, size_t* out_length);

/** Returns the text of a key.
 *
 * @param[in] state_dict borrowed.
 * @param[in] key of a text that is there.
 * @param[out] out_text caller's memory; always ends with a zero byte. A text of a file may have others before it,
 *   which out_length shows.
 * @param[in] capacity bytes at out_text.
 * @param[out] out_length the length without the zero byte at the end, also where the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (no text of that key), BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_state_dict_text(htone_state_dict* state_dict, const char* key, char* out_text,
                                             size_t capacity, size_t* out_length);

#ifdef __cplusplus
}
#endif

#endif
