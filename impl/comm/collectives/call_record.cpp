#include "comm/collectives/call_record.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "comm/collectives/operands.h"

namespace halftone {

CallRecord::CallRecord(const Request& request) noexcept {
  if (request.operation != Operation::kMessages) {
    header = header_of(request, 0, 0);
    return;
  }
  header = {.count = request.transfer_count, .operation = Operation::kMessages};
  for (int32_t i = 0; i < std::min(request.transfer_count, kNamed); ++i) {
    const Transfer& transfer = request.transfers[i];
    messages[i] = {transfer.direction, transfer.peer, transfer.data.numel(), transfer.data.dtype};
  }
}

RecordText::RecordText(const CallRecord& call, const RankNames& names) noexcept {
  int length = 0;
  const auto append = [&](const char* format, auto... values) {
    const int left = static_cast<int>(sizeof text) - length;
    length += std::min(left - 1, std::snprintf(text + length, static_cast<size_t>(left), format, values...));
  };
  if (call.header.operation != Operation::kMessages) {
    append("%s", CallText(call.header, names).text);
    return;
  }
  const int64_t count = call.header.count;
  if (count != 1) append("batch of %" PRId64 " messages%s", count, count > 0 ? ": " : "");
  for (int64_t i = 0; i < std::min<int64_t>(count, CallRecord::kNamed); ++i) {
    const auto& message = call.messages[i];
    const bool sends = message.direction == Operation::kSend;
    append("%s%s of %" PRId64 " %s %s rank %d", i > 0 ? ", " : "", sends ? "send" : "receive", message.count,
           name_of(message.dtype), sends ? "to" : "from", names[message.peer]);
  }
  if (count > CallRecord::kNamed) append("%s", ", ...");
}

}  // namespace halftone
