#include "offload/file_space.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/error.h"
#include "offload/file_queue.h"

namespace halftone::offload {
namespace {

// Zeros are written in pieces of this size.
constexpr size_t kZeros = size_t{1} << 20;

File make_file(const Io& io, const std::string& directory) {
  File file = File::create_beside(io, directory + "/halftone-offload");
  remove(io, file.path());
  return file;
}

}  // namespace

struct FileSpace::Shared {
  Shared(const Io& io, const std::string& directory) : queue(make_file(io, directory)) {}

  uint64_t take_place(size_t bytes);
  void give_back(uint64_t place, size_t bytes) noexcept;

  FileQueue queue;

 private:
  std::mutex mutex_;                                  // guards the members below
  uint64_t end_ = 0;                                  // of all slots so far
  std::map<size_t, std::vector<uint64_t>> released_;  // places of former slots, by size
};

uint64_t FileSpace::Shared::take_place(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = released_.find(bytes);
  if (found == released_.end() || found->second.empty()) return std::exchange(end_, end_ + bytes);
  const uint64_t place = found->second.back();
  found->second.pop_back();
  return place;
}

void FileSpace::Shared::give_back(uint64_t place, size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    released_[bytes].push_back(place);
  } catch (const std::bad_alloc&) {
    // A part of the file stays unused.
  }
}

// A new slot is blank: it reads as zeros, and its part of the file, which another slot may have had, is not there or
// not cleared.
class FileSpace::Slot final : public SwapSlot {
 public:
  Slot(std::shared_ptr<Shared> shared, size_t bytes)
      : shared_(std::move(shared)), bytes_(bytes), offset_(shared_->take_place(bytes)) {}
  ~Slot() override {
    if (!queue().is_here()) return;
    queue().finish(transfer_);
    shared_->give_back(offset_, bytes_);
  }

  void start_read(size_t begin, void* memory, size_t bytes) noexcept override;
  void start_write(size_t begin, const void* memory, size_t bytes) noexcept override;
  void wait() override;

 private:
  FileQueue& queue() const noexcept { return shared_->queue; }
  void start(size_t begin, void* memory, size_t bytes, bool is_write) noexcept;
  void clear() noexcept;

  const std::shared_ptr<Shared> shared_;
  const size_t bytes_;
  const uint64_t offset_;
  bool is_blank_ = true;
  Transfer transfer_;
};

// The memory of a page without elements is null.
void FileSpace::Slot::start_read(size_t begin, void* memory, size_t bytes) noexcept {
  if (!is_blank_) return start(begin, memory, bytes, false);
  transfer_ = {};
  if (bytes > 0) std::memset(memory, 0, bytes);
}

void FileSpace::Slot::start_write(size_t begin, const void* memory, size_t bytes) noexcept {
  if (!queue().is_here()) return;  // wait() tells
  if (is_blank_ && bytes < bytes_) clear();
  if (!transfer_.error) start(begin, const_cast<void*>(memory), bytes, true);
}

void FileSpace::Slot::start(size_t begin, void* memory, size_t bytes, bool is_write) noexcept {
  if (!queue().is_here()) return;  // wait() tells
  transfer_.offset = offset_ + begin;
  transfer_.memory = static_cast<char*>(memory);
  transfer_.size = bytes;
  transfer_.is_write = is_write;
  queue().start(transfer_);
}

void FileSpace::Slot::clear() noexcept {
  try {
    std::vector<char> zeros(std::min(bytes_, kZeros));
    for (size_t done = 0; done < bytes_ && !transfer_.error; done += zeros.size()) {
      start(done, zeros.data(), std::min(zeros.size(), bytes_ - done), true);
      queue().finish(transfer_);
    }
  } catch (...) {
    transfer_.error = std::current_exception();
  }
}

void FileSpace::Slot::wait() {
  if (!queue().is_here()) fail(Code::kState, "", "the state was offloaded to a file by another process");
  queue().finish(transfer_);
  if (transfer_.error) std::rethrow_exception(std::exchange(transfer_.error, nullptr));
  if (transfer_.is_write) is_blank_ = false;
}

FileSpace::FileSpace(ContextDevice& device, const std::string& directory) {
  if (!device.device->host_accessible()) {
    fail(Code::kUnsupported, "options",
         "options.offload: host code cannot read memory of %s, so that its state cannot go to a %s",
         device.device->name(), "file; expected HTONE_OFFLOAD_HOST");
  }
  shared_ = std::make_shared<Shared>(device.context->io(), directory);
}

FileSpace::~FileSpace() = default;

std::unique_ptr<SwapSlot> FileSpace::make_slot(size_t bytes) { return std::make_unique<Slot>(shared_, bytes); }

}  // namespace halftone::offload
