#include "tensor/equal_state.h"

#include <algorithm>
#include <cstddef>

#include "tensor/factory.h"

namespace halftone {

namespace {

constexpr int64_t kPieceElements = 1 << 18;

bool is_one_tensor(const StateTensor& one, const StateTensor& other) {
  const Tensor &a = one.tensor, &b = other.tensor;
  return a.defined() && b.defined() && a.storage() == b.storage() && a.offset() == b.offset() &&
         a.strides() == b.strides();
}

// The elements of an entry, in host memory piece by piece.
class Elements {
 public:
  explicit Elements(const StateTensor& entry) : entry_(entry) {
    if (entry.reader == nullptr) flat_ = contiguous(entry.tensor);
  }
  int64_t piece() const {
    return entry_.reader && entry_.reader->verifies_whole() ? entry_.numel() : std::min(kPieceElements, entry_.numel());
  }
  std::vector<std::byte> read(int64_t begin, int64_t count) const {
    std::vector<std::byte> bytes(static_cast<size_t>(count) * size_of(entry_.dtype()));
    read_to_host(part(begin, count), entry_.dtype(), bytes.data());
    return bytes;
  }

 private:
  Tensor part(int64_t begin, int64_t count) const {
    if (!entry_.reader) return flat_.as_strided({count}, {1}, flat_.offset() + begin);
    const Tensor read = empty(entry_.reader->device(), entry_.dtype(), {count});
    entry_.reader->read(begin, read);
    return read;
  }

  const StateTensor& entry_;
  Tensor flat_;  // undefined if the entry has a reader
};

}  // namespace

bool are_equal(const StateTensor& one, const StateTensor& other) {
  if (one.dtype() != other.dtype() || one.shape() != other.shape() || one.global_shape() != other.global_shape() ||
      one.offset() != other.offset() || !is_same_box(one.held().box, other.held().box)) {
    return false;
  }
  if (is_one_tensor(one, other)) return true;
  const Elements a(one), b(other);
  const int64_t count = one.numel(), piece = std::max(a.piece(), b.piece());
  for (int64_t begin = 0; begin < count; begin += piece) {
    const int64_t size = std::min(piece, count - begin);
    if (a.read(begin, size) != b.read(begin, size)) return false;
  }
  return true;
}

}  // namespace halftone
