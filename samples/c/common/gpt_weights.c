#include "gpt_weights.h"

#include <string.h>

#include "failure.h"

/* A name of a file may be longer, but is then none of GPT-2's. */
enum { kNameCapacity = 4097 };

static bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_transposed(const char* name) {
  return ends_with(name, ".c_attn.weight") || ends_with(name, ".c_fc.weight") || ends_with(name, ".c_proj.weight");
}

/* Published files have the causal mask beside the weights, and some a second copy of wte. */
static bool is_passed_over(const char* name) {
  return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias") || strcmp(name, "lm_head.weight") == 0;
}

static const char* without_prefix(const char* name) {
  static const char prefix[] = "transformer.";
  return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

/* Adds one tensor under its name without the prefix, its matrix transposed where the layouts differ. */
static bool convert_tensor(htone_state_dict* from, size_t index, htone_state_dict* to) {
  char full_name[kNameCapacity];
  size_t length;
  int32_t ndim;
  int64_t shape[8];
  htone_scope* temporaries;
  htone_tensor* tensor;
  if (!ok(htone_state_dict_name(from, index, full_name, sizeof full_name, &length))) return false;
  const char* name = without_prefix(full_name);
  if (is_passed_over(name)) return true;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  bool done = ok(htone_state_dict_tensor(from, index, &tensor)) && ok(htone_tensor_shape(tensor, shape, 8, &ndim));
  if (done && is_transposed(name) && ndim == 2) {
    done = ok(htone_transpose(tensor, 0, 1, &tensor)) && ok(htone_tensor_contiguous(tensor, &tensor));
  }
  done = done && ok(htone_state_dict_add(to, name, tensor));
  return ok(htone_scope_end(temporaries)) && done;
}

/* Exchanging rows and columns leads to the published layout, and exchanging them again leads back. */
static bool convert(htone_state_dict* from, htone_state_dict** out) {
  size_t count;
  if (!ok(htone_state_dict_count(from, &count)) || !ok(htone_state_dict_create(out))) return false;
  bool done = true;
  for (size_t i = 0; i < count && done; ++i) done = convert_tensor(from, i, *out);
  return done;
}

static bool add_parameter(htone_parameters* parameters, size_t index, htone_state_dict* to) {
  char name[kNameCapacity];
  size_t length;
  htone_parameter* parameter;
  htone_tensor* weights;
  return ok(htone_parameters_name(parameters, index, name, sizeof name, &length)) &&
         ok(htone_parameters_at(parameters, index, &parameter)) &&
         ok(htone_parameter_read(parameter, HTONE_F32, &weights)) && ok(htone_state_dict_add(to, name, weights));
}

/* The state dict of the module itself would have this process's part of the weights. */
static bool read_weights(htone_module* model, htone_state_dict** out) {
  htone_parameters* parameters;
  size_t count;
  if (!ok(htone_parameters_create_from_module(model, &parameters)) || !ok(htone_parameters_count(parameters, &count)) ||
      !ok(htone_state_dict_create(out))) {
    return false;
  }
  bool done = true;
  for (size_t i = 0; i < count && done; ++i) done = add_parameter(parameters, i, *out);
  return done;
}

bool gpt_weights_write(htone_module* model, htone_context* context, const char* path) {
  htone_scope* temporaries;
  htone_state_dict *state, *published;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = read_weights(model, &state) && convert(state, &published) &&
                    ok(htone_state_dict_set_text(published, "format", "pt")) &&
                    ok(htone_safetensors_save(context, path, published));
  return ok(htone_scope_end(temporaries)) && done;
}

bool gpt_weights_read(htone_module* model, htone_device* device, const char* path) {
  htone_scope* temporaries;
  htone_state_dict *file, *state;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_safetensors_open(device, path, &file)) && convert(file, &state) &&
                    ok(htone_module_load_state_dict(model, state, NULL));
  return ok(htone_scope_end(temporaries)) && done;
}
