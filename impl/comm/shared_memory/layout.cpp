#include "comm/shared_memory/layout.h"

#include "core/dtype.h"

namespace halftone {

bool is_valid(const Header& header) noexcept {
  const bool is_operation = header.operation >= Operation::kAllReduce && header.operation <= Operation::kReceive;
  const bool reduces = header.operation == Operation::kAllReduce || header.operation == Operation::kReduceScatter;
  const int32_t last = static_cast<int32_t>(ReduceOp::kMax);
  const bool is_argument = !reduces || (header.argument >= 0 && header.argument <= last);
  return is_operation && is_argument && is_valid(header.dtype);
}

Status reason_of(const SegmentControl& control) noexcept {
  Status reason = control.failure;
  if (reason.code < Code::kOk || reason.code > Code::kNotFinite) reason.code = Code::kComm;
  reason.message[Status::kMessageCapacity - 1] = '\0';
  return reason;
}

}  // namespace halftone
