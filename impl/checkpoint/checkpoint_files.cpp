#include "checkpoint/checkpoint_files.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace

bool is_file_of_checkpoint(const std::string& name) {
  std::string_view text = name;
  if (text.ends_with(kTemporary)) text.remove_suffix(std::string_view(kTemporary).size());
  if (text == kIndexName) return true;
  return take("rank-", text) && take_number(text) && take("-of-", text) && take_number(text) && text == ".safetensors";
}

std::vector<std::string> paths_in(const std::string& folder, int64_t world_size) {
  const std::string index = folder + "/" + kIndexName;
  std::vector<std::string> paths = {index, index + kTemporary};
  for (int64_t rank = 0; rank < world_size; ++rank) {
    const std::string tensors = folder + "/" + file_name(rank, world_size);
    paths.push_back(tensors);
    paths.push_back(tensors + kTemporary);
  }
  paths.push_back(folder);
  return paths;
}

Index unwritten_index(const SaveRank& save, const StateDict& state) {
  Index index{.step = save.step, .save_id = save.save_id, .files = {}, .tensors = {}, .scalars = state.scalars()};
  index.files.push_back({.name = file_name(save.rank, save.world_size)});
  index.tensors.reserve(state.tensors().size());
  for (const StateTensor& entry : state.tensors()) {
    const BoxRange held = entry.held();
    const TensorPart part = {
        .file = 0, .begin = held.begin, .end = held.end, .box = entry.range ? entry.range->box : nullptr};
    index.tensors.push_back(
        {.name = entry.name, .dtype = entry.dtype(), .shape = entry.global_shape(), .parts = {part}});
  }
  return index;
}

Index write_tensors(const Io& io, const std::string& folder, const SaveRank& save, const StateDict& state) {
  Index index = unwritten_index(save, state);
  WrittenFile written;
  publish_file(io, folder + "/" + index.files[0].name, [&](File& file) {
    written = write_safetensors(file, state, {{"save_id", save.save_id}});
  });
  sync_directory(io, folder);
  index.files[0].size = written.size;
  index.files[0].header_checksum = written.header_checksum;
  for (size_t i = 0; i < index.tensors.size(); ++i) index.tensors[i].parts[0].checksum = written.tensor_checksums[i];
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

}  // namespace halftone::checkpoint
