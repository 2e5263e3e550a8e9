#include "checkpoint/open_safetensors.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone::checkpoint {

namespace {

// The context has the table of files and the device.
struct OpenFile final : RefCounted {
  OpenFile(Ref<Context> owner, const std::string& path) : context(std::move(owner)), file(context->io(), path) {}
  Ref<Context> context;
  SafetensorsFile file;
};

class FileTensor final : public StateReader {
 public:
  FileTensor(Ref<const OpenFile> open, const TensorEntry& entry, ContextDevice& device)
      : open_(std::move(open)), entry_(entry), shape_(open_->file.header().shape_of(entry)), device_(device) {}

  DType dtype() const noexcept override { return entry_.dtype; }
  const Shape& shape() const noexcept override { return shape_; }
  ContextDevice& device() const noexcept override { return device_; }
  void read(int64_t begin, const Tensor& target) const override {
    const uint64_t first = static_cast<uint64_t>(begin) * size_of(dtype());
    const uint64_t size = static_cast<uint64_t>(target.numel()) * size_of(dtype());
    const ByteRange range = {.begin = first, .end = first + size};
    if (target.device().device->host_accessible()) return open_->file.read_bytes(entry_, range, target.data());
    std::vector<std::byte> bytes(static_cast<size_t>(size));
    open_->file.read_bytes(entry_, range, bytes.data());
    write_from_host(target, dtype(), bytes.data());
  }

 private:
  Ref<const OpenFile> open_;
  const TensorEntry& entry_;  // in the file's header
  Shape shape_;
  ContextDevice& device_;
};

}  // namespace

OpenedState open_safetensors(const std::string& path, ContextDevice& device) {
  const Ref<const OpenFile> open = make_ref<OpenFile>(Ref<Context>::share(device.context), path);
  const SafetensorsHeader& header = open->file.header();
  OpenedState opened;
  opened.metadata = header.metadata;
  opened.state.reserve(header.tensors.size());
  for (const TensorEntry& entry : header.tensors) {
    opened.state.add_reader(entry.name, make_ref<FileTensor>(open, entry, device));
  }
  return opened;
}

}  // namespace halftone::checkpoint
