#include "comm/shared_memory/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <new>
#include <utility>

#include "core/error.h"

namespace halftone {
namespace {

// A file that becomes shorter would end a process that reads the missing part.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

// Reserves the memory as well: a page that is missing when it is first written would end the process. Returns errno.
int extend(const Descriptor& file, size_t bytes, size_t more) noexcept {
  // Beyond this limit the system sends a signal that ends the process.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes + more) return EFBIG;
  int error = EINTR;
  while (error == EINTR)
    error = fallocate(file.get(), 0, static_cast<off_t>(bytes), static_cast<off_t>(more)) == 0 ? 0 : errno;
  return error;
}

Status out_of_memory(size_t bytes, int error) noexcept {
  Status status = Status::failure(Code::kOutOfMemory, "no %zu bytes of shared memory: error %d", bytes, error);
  status.native_code = error;
  return status;
}

// Some systems and containers do not have the call, or forbid it.
Status no_shared_memory(int error) noexcept {
  Status status = Status::failure(Code::kUnsupported,
                                  "this system gives processes no shared memory (memfd_create: error %d): use the kind "
                                  "\"gloo\"",
                                  error);
  status.native_code = error;
  return status;
}

Descriptor create_file(size_t bytes) {
  Descriptor file(memfd_create("halftone", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int error = errno;
  if (file) return file;
  check(error == ENOSYS || error == EPERM || error == EACCES ? no_shared_memory(error) : out_of_memory(bytes, error));
  return file;
}

// Not 0.
uint64_t random_number() {
  uint64_t number = 0;
  while (number == 0) {
    if (getrandom(&number, sizeof number, 0) < 0 && errno != EINTR) fail(Code::kIo, "", "no random numbers");
  }
  return number;
}

size_t size_of(const Descriptor& file) noexcept {
  struct stat status;
  return fstat(file.get(), &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
}

}  // namespace

// A child of fork() gets no copy: it cannot take part in the group.
SharedMapping::SharedMapping(const Descriptor& file, size_t offset, size_t bytes, int protection) : bytes_(bytes) {
  void* begin = mmap(nullptr, bytes, protection, MAP_SHARED, file.get(), static_cast<off_t>(offset));
  if (begin == MAP_FAILED) check(out_of_memory(bytes, errno));
  begin_ = static_cast<std::byte*>(begin);
  madvise(begin, bytes, MADV_DONTFORK);
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

bool SharedMapping::extend(size_t bytes) noexcept {
  void* begin = mremap(begin_, bytes_, bytes, MREMAP_MAYMOVE);
  if (begin == MAP_FAILED) return false;
  begin_ = static_cast<std::byte*>(begin);
  bytes_ = bytes;
  return true;
}

size_t Segment::word_bytes(int ranks) noexcept {
  const size_t bytes = sizeof(SegmentControl) + static_cast<size_t>(ranks) * (sizeof(Outbox) + sizeof(Inbox));
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

Segment Segment::create(int ranks, size_t data_bytes) {
  Segment segment;
  segment.ranks_ = ranks;
  segment.file_ = create_file(data_bytes);
  const size_t words = word_bytes(ranks);
  const int error = extend(segment.file_, 0, words + data_bytes);
  if (error != 0) check(out_of_memory(data_bytes, error));
  if (fcntl(segment.file_.get(), F_ADD_SEALS, kSeals) != 0) check(out_of_memory(data_bytes, errno));
  segment.words_ = SharedMapping(segment.file_, 0, words, PROT_READ | PROT_WRITE);
  segment.data_ = SharedMapping(segment.file_, words, data_bytes, PROT_READ | PROT_WRITE);
  SegmentControl* control = new (segment.words_.begin()) SegmentControl{};  // the rest begins as zeros
  control->nonce = random_number();
  control->failed_step.store(UINT64_MAX, std::memory_order_relaxed);
  return segment;
}

Segment Segment::open(Descriptor file, int ranks) {
  const size_t words = word_bytes(ranks);
  const size_t bytes = size_of(file);
  const int seals = fcntl(file.get(), F_GET_SEALS);  // -1 for a file on a disk
  if (bytes <= words || seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    fail(Code::kComm, "", "a rank's file of %zu bytes is not the shared memory of %d ranks", bytes, ranks);
  }
  Segment segment;
  segment.ranks_ = ranks;
  segment.file_ = std::move(file);
  segment.words_ = SharedMapping(segment.file_, 0, words, PROT_READ | PROT_WRITE);
  segment.data_ = SharedMapping(segment.file_, words, bytes - words, PROT_READ);
  return segment;
}

Status Segment::grow(size_t bytes) noexcept {
  const int error = extend(file_, words_.bytes() + data_.bytes(), bytes);
  if (error != 0) return out_of_memory(bytes, error);
  return data_.extend(data_.bytes() + bytes) ? Status{} : out_of_memory(bytes, errno);
}

const std::byte* Segment::find(uint64_t offset, uint64_t bytes) noexcept {
  if (offset % kCacheLine != 0) return nullptr;
  const auto contains = [&] { return offset <= data_.bytes() && bytes <= data_.bytes() - offset; };
  if (!contains()) {
    const size_t present = size_of(file_) - words_.bytes();  // the owner may have grown it since
    if (present <= data_.bytes() || !data_.extend(present)) return nullptr;
  }
  return contains() ? data_.begin() + offset : nullptr;
}

}  // namespace halftone
