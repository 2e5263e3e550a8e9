#include "checkpoint/coverage.h"

#include <algorithm>

#include "core/error.h"

namespace halftone::checkpoint {

void Coverage::add(int64_t begin, int64_t end) {
  require_next(begin);
  if (end > numel(tensor_.shape)) {
    fail(Code::kFormat, "", "tensor %.64s: a rank has elements up to %lld of %s", tensor_.name.c_str(),
         static_cast<long long>(end), ShapeText(tensor_.shape).text);
  }
  end_ = end;
}

void Coverage::require_next(int64_t begin) const {
  if (begin == end_) return;
  fail(Code::kFormat, "", "tensor %.64s: %s elements %lld to %lld", tensor_.name.c_str(),
       begin > end_ ? "no rank has" : "two ranks have", static_cast<long long>(std::min(begin, end_)),
       static_cast<long long>(std::max(begin, end_)));
}

void require_alike(const IndexTensor& one, const IndexTensor& other) {
  if (one.dtype == other.dtype && one.shape == other.shape) return;
  fail(Code::kFormat, "", "tensor %.64s is %s %s on one rank and %s %s on another", one.name.c_str(),
       name_of(one.dtype), ShapeText(one.shape).text, name_of(other.dtype), ShapeText(other.shape).text);
}

}  // namespace halftone::checkpoint
