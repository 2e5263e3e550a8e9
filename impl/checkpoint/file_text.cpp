#include "checkpoint/file_text.h"

#include <algorithm>

namespace halftone::checkpoint {

void FileText::refill() {
  filled_ = static_cast<size_t>(std::min<uint64_t>(left_, sizeof buffer_));
  file_.read(offset_, buffer_, filled_);
  checksum_.add(buffer_, filled_);
  offset_ += filled_;
  left_ -= filled_;
  next_ = 0;
}

}  // namespace halftone::checkpoint
