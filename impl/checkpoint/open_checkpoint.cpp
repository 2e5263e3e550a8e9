#include "checkpoint/open_checkpoint.h"

#include <algorithm>
#include <utility>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/checksum.h"
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
    read_part({.box = nullptr, .begin = begin, .end = begin + target.numel()}, target);
  }
  void read_part(const BoxRange& part, const Tensor& target) const override {
    checkpoint_->read(tensor_, part, target.data());
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

// Returns the part's checksum. Each piece is copied run by run: where the part and `elements` are cut differently, what
// they share lies in rows.
uint64_t OpenCheckpoint::read_rows(const IndexTensor& tensor, const TensorPart& part, const BoxRange& wanted,
                                   void* elements) const {
  const SafetensorsFile& file = files_[part.file];
  const TensorEntry& entry = entry_of(tensor, part);
  const size_t width = size_of(tensor.dtype);
  const auto whole_piece = static_cast<int64_t>(piece_.size() / width);
  Checksum sum;
  for (int64_t begin = part.begin; begin < part.end; begin += whole_piece) {
    const BoxRange piece = {.box = part.box.get(), .begin = begin, .end = std::min(begin + whole_piece, part.end)};
    const auto bytes = [&](int64_t count) { return static_cast<size_t>(count) * width; };
    file.read_bytes(entry, {bytes(piece.begin - part.begin), bytes(piece.end - part.begin)}, piece_.data());
    sum.add(piece_.data(), bytes(piece.end - piece.begin));
    for_each_common_run(piece, wanted, [&](int64_t from, int64_t to, int64_t count) {
      std::copy_n(piece_.data() + bytes(from - piece.begin), bytes(count),
                  static_cast<std::byte*>(elements) + bytes(to - wanted.begin));
    });
  }
  return sum.value();
}

uint64_t OpenCheckpoint::read_range(const IndexTensor& tensor, const TensorPart& part, const BoxRange& wanted,
                                    void* elements) const {
  const auto bytes = [&](int64_t count) { return static_cast<uint64_t>(count) * size_of(tensor.dtype); };
  const int64_t first = std::max(wanted.begin, part.begin), end = std::min(wanted.end, part.end);
  const ByteRange kept = {bytes(first - part.begin), bytes(end - part.begin)};
  void* place = static_cast<std::byte*>(elements) + bytes(first - wanted.begin);
  return files_[part.file].read_range(entry_of(tensor, part), kept, place, piece_);
}

void OpenCheckpoint::read(const IndexTensor& tensor, const BoxRange& wanted, void* elements) const {
  for (const TensorPart& part : tensor.parts) {
    if (common_count(part.range(), wanted) == 0) continue;
    const bool is_range = is_same_box(part.box.get(), wanted.box);
    require_checksum(tensor, part,
                     is_range ? read_range(tensor, part, wanted, elements) : read_rows(tensor, part, wanted, elements));
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
