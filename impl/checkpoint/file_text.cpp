#include "checkpoint/file_text.h"

#include <algorithm>

namespace halftone::checkpoint {

size_t FileText::read(uint64_t offset, char* buffer, size_t size) {
  const auto filled = static_cast<size_t>(std::min<uint64_t>(end_ - offset, size));
  if (filled == 0) return 0;
  file_.read(offset, buffer, filled);
  checksum_.add(buffer, filled);
  return filled;
}

}  // namespace halftone::checkpoint
