#include "checkpoint/checkpoint_files.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::checkpoint {

namespace {

constexpr const char* kTemporary = ".tmp";

// Calls write(file) with a file under a temporary name that is then renamed to `path`.
template <class Write>
void publish_file(const Io& io, const std::string& path, Write&& write) {
  const std::string temporary = path + kTemporary;
  File file = File::create(io, temporary);
  write(file);
  file.close();
  rename(io, temporary, path);
}

// Removes a number from the front of a text. Returns false if there is none.
bool take_number(std::string_view& text) {
  const size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(length);
  return length > 0;
}

bool take(std::string_view lead, std::string_view& text) {
  if (!text.starts_with(lead)) return false;
  text.remove_prefix(lead.size());
  return true;
}

// An index and its files. The constructor checks that each file is the one that was written for the index.
class OpenCheckpoint {
 public:
  OpenCheckpoint(const Io& io, const std::string& folder, int64_t step)
      : folder_(folder), index_(read_index(io, folder + "/" + kIndexName)) {
    if (index_.step != step) {
      fail(Code::kFormat, "", "%s is the checkpoint of step %lld", folder.c_str(), static_cast<long long>(index_.step));
    }
    files_.reserve(index_.files.size());
    for (const IndexFile& file : index_.files) {
      require_file(io, folder + "/" + file.name);
      files_.emplace_back(io, folder + "/" + file.name);
      require_match(file, files_.back());
    }
    // Checked before memory is allocated for the sizes in the index.
    for (const IndexTensor& tensor : index_.tensors) {
      for (const TensorPart& part : tensor.parts) entry_of(files_[part.file], tensor, part);
    }
  }

  const Index& index() const noexcept { return index_; }

  // Calls read(file, entry, part) for each part of a tensor. It returns the checksum of the bytes that it read.
  template <class Read>
  void for_each_part(const IndexTensor& tensor, Read&& read) const {
    for (const TensorPart& part : tensor.parts) {
      const SafetensorsFile& file = files_[part.file];
      const uint64_t actual = read(file, entry_of(file, tensor, part), part);
      if (actual == part.checksum) continue;
      fail(Code::kFormat, "", "%s/%s: tensor %.64s is damaged: its checksum does not match", folder_.c_str(),
           index_.files[part.file].name.c_str(), tensor.name.c_str());
    }
  }

 private:
  // A missing file, or something else in its place, is a damaged checkpoint (FORMAT), not an error of the system (IO).
  static void require_file(const Io& io, const std::string& path) {
    if (!is_file(io, path)) fail(Code::kFormat, "", "%s is missing, or no regular file", path.c_str());
  }

  void require_match(const IndexFile& expected, const SafetensorsFile& file) const {
    bool is_same_save = false;
    for (const auto& [key, text] : file.header().metadata) {
      is_same_save = is_same_save || (key == "save_id" && text == index_.save_id);
    }
    if (file.size() == expected.size && file.header().checksum == expected.header_checksum && is_same_save) return;
    fail(Code::kFormat, "", "%s/%s is not the file that the index was written for", folder_.c_str(),
         expected.name.c_str());
  }

  const TensorEntry& entry_of(const SafetensorsFile& file, const IndexTensor& tensor, const TensorPart& part) const {
    const TensorEntry* entry = file.header().find(tensor.name);
    const int64_t count = part.end - part.begin;
    if (entry == nullptr || entry->dtype != tensor.dtype || numel(file.header().shape_of(*entry)) != count) {
      fail(Code::kFormat, "", "%s/%s: tensor %.64s is missing or another than the index says", folder_.c_str(),
           index_.files[part.file].name.c_str(), tensor.name.c_str());
    }
    return *entry;
  }

  std::string folder_;
  Index index_;
  std::vector<SafetensorsFile> files_;
};

}  // namespace

bool is_file_of_checkpoint(const std::string& name) {
  std::string_view text = name;
  if (text.ends_with(kTemporary)) text.remove_suffix(std::string_view(kTemporary).size());
  if (text == kIndexName) return true;
  return take("rank-", text) && take_number(text) && take("-of-", text) && take_number(text) && text == ".safetensors";
}

std::vector<std::string> paths_in(const std::string& folder) {
  const std::string index = folder + "/" + kIndexName, tensors = folder + "/" + file_name(0, 1);
  return {index, index + kTemporary, tensors, tensors + kTemporary, folder};
}

Index write_tensors(const Io& io, const std::string& folder, int64_t step, const std::string& save_id,
                    const StateDict& state) {
  Index index{.step = step, .save_id = save_id, .files = {}, .tensors = {}, .scalars = state.scalars()};
  const std::string name = file_name(0, 1);
  WrittenFile written;
  publish_file(io, folder + "/" + name, [&](File& file) {
    written = write_safetensors(file, state, {{"save_id", save_id}});
  });
  sync_directory(io, folder);
  index.files.push_back({.name = name, .size = written.size, .header_checksum = written.header_checksum});
  for (size_t i = 0; i < state.tensors().size(); ++i) {
    const StateTensor& entry = state.tensors()[i];
    const TensorPart whole = {
        .file = 0, .begin = 0, .end = entry.tensor.numel(), .checksum = written.tensor_checksums[i]};
    index.tensors.push_back(
        {.name = entry.name, .dtype = entry.tensor.dtype(), .shape = entry.global_shape(), .parts = {whole}});
  }
  return index;
}

void write_index(const Io& io, const std::string& folder, const Index& index) {
  const std::string text = serialize(index);
  publish_file(io, folder + "/" + kIndexName, [&](File& file) {
    file.write(0, text.data(), text.size());
    file.sync();
  });
  sync_directory(io, folder);
}

StateDict read_checkpoint(const Io& io, const std::string& folder, int64_t step, ContextDevice& device) {
  const OpenCheckpoint checkpoint(io, folder, step);
  StateDict state;
  for (const IndexTensor& tensor : checkpoint.index().tensors) {
    const Tensor whole = empty(device, tensor.dtype, tensor.shape, Category::kParameters);
    checkpoint.for_each_part(tensor,
                             [&](const SafetensorsFile& file, const TensorEntry& entry, const TensorPart& part) {
                               return file.read(entry, whole.as_strided({part.end - part.begin}, {1}, part.begin));
                             });
    state.add(tensor.name, whole);
  }
  for (const NamedScalar& scalar : checkpoint.index().scalars) state.add(scalar.name, scalar.value);
  return state;
}

void verify_checkpoint(const Io& io, const std::string& folder, int64_t step) {
  const OpenCheckpoint checkpoint(io, folder, step);
  for (const IndexTensor& tensor : checkpoint.index().tensors) {
    checkpoint.for_each_part(tensor, [](const SafetensorsFile& file, const TensorEntry& entry, const TensorPart&) {
      return file.checksum_of(entry);
    });
  }
}

}  // namespace halftone::checkpoint
