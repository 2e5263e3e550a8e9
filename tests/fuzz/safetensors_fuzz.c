/* The input is a safetensors file. It must load, or be refused with FORMAT or UNSUPPORTED. A loaded file is saved and
 * must load again. */
#include "memory_files.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static int is_an_answer_to_bytes(htone_status status) {
  return status == HTONE_OK || status == HTONE_ERROR_FORMAT || status == HTONE_ERROR_UNSUPPORTED || status == HTONE_ERROR_OUT_OF_MEMORY;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  htone_context* context = NULL;
  htone_device* device = memory_device(&context);
  htone_state_dict *loaded = NULL, *again = NULL;
  put_file("f/in", data, size);
  const htone_status status = htone_safetensors_load(device, "f/in", &loaded);
  require(is_an_answer_to_bytes(status), "a status for bytes");
  if (status == HTONE_OK) {
    require(htone_safetensors_save(context, "f/out", loaded) == HTONE_OK, "what was loaded can be saved");
    require(htone_safetensors_load(device, "f/out", &again) == HTONE_OK, "what was saved can be loaded");
  }
  htone_state_dict_release(again);
  htone_state_dict_release(loaded);
  require_no_handles();
  return 0;
}
