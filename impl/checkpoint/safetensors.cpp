#include "checkpoint/safetensors.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "checkpoint/checksum.h"
#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::checkpoint {

namespace {

// Puts wide elements first, so that a program that maps the file finds every tensor aligned.
std::vector<size_t> by_element_size(const StateDict& state) {
  std::vector<size_t> order(state.tensors().size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return size_of(state.tensors()[a].dtype()) > size_of(state.tensors()[b].dtype());
  });
  return order;
}

size_t bytes_of(const Tensor& tensor) { return static_cast<size_t>(tensor.numel()) * size_of(tensor.dtype()); }

bool host_sees(const Tensor& tensor) { return tensor.device().device->host_accessible(); }

// A tensor's elements in host memory: the tensor's own memory if it is accessible there, otherwise a copy.
class HostBytes {
 public:
  explicit HostBytes(const Tensor& tensor) : tensor_(contiguous(tensor)) {
    check(tensor_.device().device->stream().synchronize());
    if (host_sees(tensor_)) return;
    copy_.resize(bytes_of(tensor_));
    read_to_host(tensor_, tensor_.dtype(), copy_.data());
  }
  const void* data() const { return copy_.empty() ? tensor_.data() : copy_.data(); }
  size_t size() const { return bytes_of(tensor_); }

 private:
  Tensor tensor_;
  std::vector<std::byte> copy_;
};

SafetensorsHeader header_of(const StateDict& state, const std::vector<size_t>& order, const Metadata& metadata) {
  SafetensorsHeader header;
  header.metadata = metadata;
  for (size_t i : order) {
    const StateTensor& entry = state.tensors()[i];
    append_tensor(header, entry.name, entry.dtype(), entry.shape());
  }
  return header;
}

}  // namespace

uint64_t safetensors_size(const StateDict& state, const Metadata& metadata) {
  SafetensorsHeader header = header_of(state, by_element_size(state), metadata);
  const uint64_t data = header.tensors.empty() ? 0 : header.tensors.back().end;
  return serialize(header).size() + data;
}

WrittenFile write_safetensors(File& file, const StateDict& state, const Metadata& metadata) {
  const std::vector<size_t> order = by_element_size(state);
  SafetensorsHeader header = header_of(state, order, metadata);
  const std::string front = serialize(header);
  file.write(0, front.data(), front.size());
  WrittenFile written;
  written.size = front.size();
  written.header_checksum = header.checksum;
  written.tensor_checksums.resize(order.size());
  for (size_t i : order) {
    const HostBytes bytes(in_memory(state.tensors()[i]));
    file.write(written.size, bytes.data(), bytes.size());
    written.tensor_checksums[i] = checksum(bytes.data(), bytes.size());
    written.size += bytes.size();
  }
  file.sync();
  return written;
}

SafetensorsFile::SafetensorsFile(const Io& io, const std::string& path)
    : file_(File::open(io, path)), header_(read_safetensors_header(file_)) {}

void SafetensorsFile::read(const TensorEntry& entry, const Tensor& target) const {
  const uint64_t offset = header_.data_begin + entry.begin;
  const size_t size = bytes_of(target);
  std::vector<std::byte> copy(host_sees(target) ? 0 : size);
  void* bytes = copy.empty() ? target.data() : copy.data();
  file_.read(offset, bytes, size);
  if (entry.dtype == DType::kBool) require_bools(static_cast<const unsigned char*>(bytes), size, entry.name);
  if (copy.empty()) {
    target.bump_version();
  } else {
    write_from_host(target, entry.dtype, bytes);
  }
}

// Kernels rely on a bool being 0 or 1, and the target may be a live tensor, so bools are looked at in `piece` first.
uint64_t SafetensorsFile::read_range(const TensorEntry& entry, ByteRange kept, void* target,
                                     std::span<std::byte> piece) const {
  Checksum sum;
  const bool has_bools = entry.dtype == DType::kBool;
  const uint64_t size = entry.end - entry.begin;
  for (uint64_t position = 0; position < size;) {
    const bool is_kept = position >= kept.begin && position < kept.end;
    const uint64_t stop = position < kept.begin ? kept.begin : is_kept ? kept.end : size;
    const auto count = static_cast<size_t>(std::min<uint64_t>(kPieceBytes, stop - position));
    std::byte* place = is_kept ? static_cast<std::byte*>(target) + (position - kept.begin) : piece.data();
    std::byte* bytes = has_bools ? piece.data() : place;
    file_.read(header_.data_begin + entry.begin + position, bytes, count);
    if (has_bools) require_bools(reinterpret_cast<const unsigned char*>(bytes), count, entry.name);
    if (bytes != place) std::copy_n(bytes, count, place);
    sum.add(bytes, count);
    position += count;
  }
  return sum.value();
}

void SafetensorsFile::read_bytes(const TensorEntry& entry, ByteRange range, void* target) const {
  const auto size = static_cast<size_t>(range.end - range.begin);
  file_.read(header_.data_begin + entry.begin + range.begin, target, size);
  if (entry.dtype == DType::kBool) require_bools(static_cast<const unsigned char*>(target), size, entry.name);
}

StateDict SafetensorsFile::read_all(ContextDevice& device) && {
  StateDict state;
  state.reserve(header_.tensors.size());
  for (TensorEntry& entry : header_.tensors) {
    const Tensor tensor = empty(device, entry.dtype, header_.shape_of(entry), Category::kParameters);
    read(entry, tensor);
    state.add(std::move(entry.name), tensor);
  }
  return state;
}

void SafetensorsFile::require_bools(const unsigned char* bytes, size_t size, const std::string& name) const {
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] > 1)
      fail(Code::kFormat, "", "%s: tensor %.64s: %d is no bool", file_.path().c_str(), name.c_str(), bytes[i]);
  }
}

void save_safetensors(const Io& io, const std::string& path, const StateDict& state, const Metadata& metadata) {
  // Opened first: nothing that can run out of memory may follow the rename.
  File directory = File::open_directory(io, parent_of(path));
  replace_file(io, path, [&](File& file) { write_safetensors(file, state, metadata); });
  directory.sync_entries();
  directory.close();
}

}  // namespace halftone::checkpoint
