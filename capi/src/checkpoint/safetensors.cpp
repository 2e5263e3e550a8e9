#include "halftone/safetensors.h"

#include <algorithm>

#include "base/call.h"
#include "base/file_arguments.h"
#include "checkpoint/memory_file.h"
#include "checkpoint/open_safetensors.h"
#include "core/text/utf8.h"
#include "nn/handles.h"
#include "nn/load_arguments.h"
#include "nn/module.h"
#include "nn/state_dict_handle.h"
#include "runtime/context.h"
#include "runtime/handles.h"
#include "resume/module_file.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

using SharedState = Ref<SharedStateDict>;

void save_file(const Context& context, const char* path, const SharedState& shared) {
  about("path", [&] { checkpoint::save_safetensors(context.io(), path, shared->state, shared->texts); });
}

// A file whose tensors are all read.
SharedState whole_file(const Io& io, const char* path, ContextDevice& device) {
  checkpoint::SafetensorsFile file(io, path);
  checkpoint::Metadata texts = file.header().metadata;
  return make_ref<SharedStateDict>(std::move(file).read_all(device), std::move(texts));
}

SharedState load_file(ContextDevice& device, const char* path) {
  return about("path", [&] { return whole_file(device.context->io(), path, device); });
}

SharedState open_file(ContextDevice& device, const char* path) {
  return about("path", [&] {
    checkpoint::OpenedState opened = checkpoint::open_safetensors(path, device);
    return make_ref<SharedStateDict>(std::move(opened.state), std::move(opened.metadata));
  });
}

SharedState load_memory(ContextDevice& device, const void* data, size_t size) {
  const checkpoint::MemoryFile memory(data, size);
  return about("data", [&] { return whole_file(memory.io(), checkpoint::MemoryFile::kName, device); });
}

void load_into(const nn::Module& module, const char* path, bool strict) {
  about("path", [&] { resume::load_file(module, path, strict); });
}

// The caller's memory for a whole file.
struct FileResult {
  static constexpr int kParameters = 3;
  void* out_data;
  size_t capacity;
  size_t* out_length;

  void require(ArgumentName name) const {
    require_memory(out_data, name);
    require_memory(out_length, "out_length");
  }
  void give(const SharedState& shared) const {
    about("state_dict", [&] {
      const auto size = static_cast<size_t>(checkpoint::safetensors_size(shared->state, shared->texts));
      // Set before the check, so that a caller can ask for the size with a capacity of 0.
      *out_length = size;
      if (capacity < size) {
        fail(Code::kBufferTooSmall, "capacity", "capacity=%zu, expected at least %zu", capacity, size);
      }
      const checkpoint::MemoryFile memory(out_data, capacity);
      File file = File::create(memory.io(), checkpoint::MemoryFile::kName);
      checkpoint::write_safetensors(file, shared->state, shared->texts);
    });
  }
};

const void* file_bytes(const void* data, ArgumentName name) {
  require_memory(data, name);
  return data;
}

auto text_of_key(SharedStateDict& shared, const std::string& key) {
  return std::find_if(shared.texts.begin(), shared.texts.end(), [&](const auto& text) { return text.first == key; });
}

const char* utf8_text(const char* value, ArgumentName name) {
  if (!is_utf8(value, std::strlen(&require(value, name)))) {
    fail(Code::kInvalidArgument, name.text(), "%s is no UTF-8", name.text());
  }
  return value;
}

void set_text(const SharedState& shared, const char* key, const char* value) {
  const auto known = text_of_key(*shared, key);
  if (known != shared->texts.end()) {
    known->second = value;
  } else {
    shared->texts.emplace_back(key, value);
  }
}

std::string key_at(const SharedState& shared, size_t index) {
  require_index(index, shared->texts.size());
  return shared->texts[index].first;
}

std::string text_at(const SharedState& shared, const char* key) {
  const auto found = text_of_key(*shared, key);
  if (found == shared->texts.end()) {
    fail(Code::kInvalidArgument, "key", "key=\"%.200s\" is no text of the state dict", key);
  }
  return found->second;
}

}  // namespace

htone_status htone_safetensors_save(htone_context* context, const char* path, htone_state_dict* state_dict) {
  return Call(save_file, context, as<file_path>(path), shared(state_dict));
}

htone_status htone_safetensors_load(htone_device* device, const char* path, htone_state_dict** out) {
  return Call(load_file, device, as<file_path>(path), out);
}

htone_status htone_safetensors_save_memory(htone_state_dict* state_dict, void* out_data, size_t capacity,
                                           size_t* out_length) {
  return Call(std::identity(), shared(state_dict), FileResult{out_data, capacity, out_length});
}

htone_status htone_safetensors_load_memory(htone_device* device, const void* data, size_t size,
                                           htone_state_dict** out) {
  return Call(load_memory, device, as<file_bytes>(data), size, out);
}

htone_status htone_safetensors_open(htone_device* device, const char* path, htone_state_dict** out) {
  return Call(open_file, device, as<file_path>(path), out);
}

htone_status htone_module_load_file(htone_module* module, const char* path, const htone_load_options* options) {
  return Call(load_into, module, as<file_path>(path), as<is_strict>(options));
}

htone_status htone_state_dict_set_text(htone_state_dict* state_dict, const char* key, const char* value) {
  return Call(set_text, shared(state_dict), as<checked_name>(key), as<utf8_text>(value));
}

htone_status htone_state_dict_text_count(htone_state_dict* state_dict, size_t* out_count) {
  return Call([](const SharedState& state) { return state->texts.size(); }, shared(state_dict), out_count);
}

htone_status htone_state_dict_text_key(htone_state_dict* state_dict, size_t index, char* out_key, size_t capacity,
                                       size_t* out_length) {
  return Call(key_at, shared(state_dict), index, text(out_key, capacity, out_length));
}

htone_status htone_state_dict_text(htone_state_dict* state_dict, const char* key, char* out_text, size_t capacity,
                                   size_t* out_length) {
  return Call(text_at, shared(state_dict), key, text(out_text, capacity, out_length));
}
