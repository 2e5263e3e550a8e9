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

void OpenCheckpoint::verify() const {
  for (const IndexTensor& tensor : index_.tensors) {
    for (const TensorPart& part : tensor.parts) {
      require_checksum(tensor, part, files_[part.file].read_range(entry_of(tensor, part), {}, nullptr, piece_));
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
