// Rows picked by index: embedding's forward, batches from a data set.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/index/check_range.h"
#include "backend/cpu/kernel_groups.h"

namespace halftone::cpu {
namespace {

// What one thread copies at a time; below that, handing work to another thread costs more than copying.
constexpr int64_t kChunkBytes = 64 * 1024;

int64_t row_bytes(const View& view) {
  int64_t count = static_cast<int64_t>(size_of(view.dtype));
  for (int i = 1; i < view.rank(); ++i) count *= view.shape[i];
  return count;
}

Status gather_rows(Stream& stream, const View& in, const View& indices, const View& out) noexcept {
  const int64_t count = indices.numel();
  const int64_t bytes = row_bytes(in);
  const Status status = check_range("indices", indices, in.shape[0]);
  if (!status.ok() || count == 0 || bytes == 0) return status;

  const auto* picked = static_cast<const int64_t*>(indices.data);
  const auto* from = static_cast<const std::byte*>(in.data);
  auto* to = static_cast<std::byte*>(out.data);
  const int64_t step = std::max<int64_t>(1, kChunkBytes / bytes);
  pool_of(stream).parallel_for((count + step - 1) / step, [=](int64_t chunk, int) {
    const int64_t end = std::min(count, (chunk + 1) * step);
    for (int64_t i = chunk * step; i < end; ++i) {
      std::memcpy(to + i * bytes, from + picked[i] * bytes, static_cast<size_t>(bytes));
    }
  });
  return {};
}

}  // namespace

const IndexKernels kIndexKernels = {
    .gather_rows = gather_rows,
};

}  // namespace halftone::cpu
