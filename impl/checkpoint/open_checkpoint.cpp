#include "checkpoint/open_checkpoint.h"

#include <algorithm>
#include <utility>

#include "checkpoint/checkpoint_files.h"
#include "core/error.h"

namespace halftone::checkpoint {

namespace {

// A missing file, or something else in its place, is a damaged checkpoint (FORMAT), not an error of the system (IO).
void require_file(const Io& io, const std::string& path) {
  if (!is_file(io, path)) fail(Code::kFormat, "", "%s is missing, or no regular file", path.c_str());
}

// A tensor in the files of a checkpoint.
class TensorReader final : public StateReader {
 public:
  TensorReader(Ref<const OpenCheckpoint> checkpoint, const IndexTensor& tensor, ContextDevice& device)
      : checkpoint_(std::move(checkpoint)), tensor_(tensor), device_(device) {}

  DType dtype() const noexcept override { return tensor_.dtype; }
  const Shape& shape() const noexcept override { return tensor_.shape; }
  ContextDevice& device() const noexcept override { return device_; }
  bool verifies_whole() const noexcept override { return true; }
  void read(int64_t begin, const Tensor& target) const override {
    checkpoint_->read(tensor_, begin, target.numel(), target.data());
  }

 private:
  Ref<const OpenCheckpoint> checkpoint_;
  const IndexTensor& tensor_;  // in the checkpoint's index
  ContextDevice& device_;
};

}  // namespace

OpenCheckpoint::OpenCheckpoint(const Io& io, const std::string& folder, int64_t step)
    : folder_(folder), index_(read_index(io, folder + "/" + kIndexName)), piece_(SafetensorsFile::kPieceBytes) {
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
    for (const TensorPart& part : tensor.parts) entry_of(tensor, part);
  }
}

void OpenCheckpoint::require_match(const IndexFile& expected, const SafetensorsFile& file) const {
  bool is_same_save = false;
  for (const auto& [key, text] : file.header().metadata) {
    is_same_save = is_same_save || (key == "save_id" && text == index_.save_id);
  }
  if (file.size() == expected.size && file.header().checksum == expected.header_checksum && is_same_save) return;
  fail(Code::kFormat, "", "%s/%s is not the file that the index was written for", folder_.c_str(),
       expected.name.c_str());
}

const TensorEntry& OpenCheckpoint::entry_of(const IndexTensor& tensor, const TensorPart& part) const {
  const SafetensorsFile& file = files_[part.file];
  const TensorEntry* entry = file.header().find(tensor.name);
  const int64_t count = part.end - part.begin;
  if (entry == nullptr || entry->dtype != tensor.dtype || numel(file.header().shape_of(*entry)) != count) {
    fail(Code::kFormat, "", "%s/%s: tensor %.64s is missing or another than the index says", folder_.c_str(),
         index_.files[part.file].name.c_str(), tensor.name.c_str());
  }
  return *entry;
}

void OpenCheckpoint::require_checksum(const IndexTensor& tensor, const TensorPart& part, uint64_t actual) const {
  if (actual == part.checksum) return;
  fail(Code::kFormat, "", "%s/%s: tensor %.64s is damaged: its checksum does not match", folder_.c_str(),
       index_.files[part.file].name.c_str(), tensor.name.c_str());
}

// The share's bytes of each file. All files in a row are cut into equal shares, so that a rank which loads its own
// ranges from as many files as there are ranks mostly verifies the bytes that it reads next.
std::vector<ByteRange> OpenCheckpoint::ranges_in_files(const Share& share) const {
  const auto count = static_cast<uint64_t>(share.world_size), rank = static_cast<uint64_t>(share.rank);
  uint64_t total = 0;
  for (const IndexFile& file : index_.files) total += file.size;
  const auto cut = [&](uint64_t k) { return total / count * k + std::min(k, total % count); };
  std::vector<ByteRange> ranges;
  uint64_t begin = 0;
  for (const IndexFile& file : index_.files) {
    const auto in_file = [&](uint64_t position) { return std::clamp(position, begin, begin + file.size) - begin; };
    ranges.push_back({.begin = in_file(cut(rank)), .end = in_file(cut(rank + 1))});
    begin += file.size;
  }
  return ranges;
}

// A part belongs to the share that has its first byte.
void OpenCheckpoint::verify(const Share& share) const {
  const std::vector<ByteRange> ranges = ranges_in_files(share);
  for (const IndexTensor& tensor : index_.tensors) {
    for (const TensorPart& part : tensor.parts) {
      const TensorEntry& entry = entry_of(tensor, part);
      const uint64_t first = files_[part.file].header().data_begin + entry.begin;
      if (first < ranges[part.file].begin || first >= ranges[part.file].end) continue;
      require_checksum(tensor, part, files_[part.file].read_range(entry, {}, nullptr, piece_));
    }
  }
}

void OpenCheckpoint::read(const IndexTensor& tensor, int64_t begin, int64_t count, void* elements) const {
  const auto bytes = [&](int64_t number) { return static_cast<uint64_t>(number) * size_of(tensor.dtype); };
  for (const TensorPart& part : tensor.parts) {
    const int64_t first = std::max(begin, part.begin), end = std::min(begin + count, part.end);
    if (first >= end) continue;
    const ByteRange kept = {bytes(first - part.begin), bytes(end - part.begin)};
    void* place = static_cast<std::byte*>(elements) + bytes(first - begin);
    require_checksum(tensor, part, files_[part.file].read_range(entry_of(tensor, part), kept, place, piece_));
  }
}

StateDict state_of(const Ref<const OpenCheckpoint>& checkpoint, ContextDevice& device) {
  StateDict state;
  state.reserve(checkpoint->index().tensors.size());
  for (const IndexTensor& tensor : checkpoint->index().tensors) {
    state.add_reader(tensor.name, make_ref<TensorReader>(checkpoint, tensor, device));
  }
  for (const NamedScalar& scalar : checkpoint->index().scalars) state.add(scalar.name, scalar.value);
  return state;
}

}  // namespace halftone::checkpoint
