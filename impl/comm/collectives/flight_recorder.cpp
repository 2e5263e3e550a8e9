#include "comm/collectives/flight_recorder.h"

#include <string.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "core/log.h"

namespace halftone {
namespace {

// The log gets this much of the record of operations.
constexpr uint64_t kToldOperations = 8;
constexpr size_t kTold = kToldOperations * 512;

double milliseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

uint64_t FlightRecorder::record_call(const Request& request) noexcept {
  const std::lock_guard lock(mutex_);
  ++last_;
  Entry& entry = entries_[last_ % kEntries];
  entry.number = last_;
  entry.call = CallRecord(request);
  entry.state = State::kWaiting;
  entry.called = Clock::now();
  return last_;
}

void FlightRecorder::record_start(uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(number);
  if (entry == nullptr) return;
  entry->state = State::kRunning;
  entry->started = Clock::now();
}

void FlightRecorder::record_end(uint64_t number, const Status& result) noexcept {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(number);
  if (entry == nullptr) return;
  entry->state = State::kEnded;
  entry->result = result;
  entry->ended = Clock::now();
}

FlightRecorder::Entry* FlightRecorder::find(uint64_t number) noexcept {
  Entry& entry = entries_[number % kEntries];
  return entry.number == number ? &entry : nullptr;
}

size_t FlightRecorder::describe_last(uint64_t count, char* out, size_t capacity) const noexcept {
  const std::lock_guard lock(mutex_);
  const uint64_t shown = std::min({count, kEntries, last_});
  size_t length = 0;
  for (uint64_t number = last_ - shown + 1; number <= last_; ++number) {
    const size_t used = std::min(length, capacity);
    length += describe(entries_[number % kEntries], out + used, capacity - used);
  }
  if (length == 0 && capacity > 0) out[0] = '\0';
  return length;
}

void FlightRecorder::tell_failure(const Status& failure, int32_t rank) const noexcept {
  log_warning("rank %d: a group failed: %s; its last operations:", names_[rank], failure.message);
  char text[kTold];
  describe_last(kToldOperations, text, sizeof text);
  for (const char* line = text; *line != '\0';) {
    const char* const end = strchrnul(line, '\n');
    log_warning("rank %d: %.*s", names_[rank], static_cast<int>(end - line), line);
    line = *end == '\n' ? end + 1 : end;
  }
}

// Returns the bytes of the whole line.
size_t FlightRecorder::describe(const Entry& entry, char* out, size_t capacity) const noexcept {
  const RecordText call(entry.call, names_);
  const double called = milliseconds(entry.called - begin_);
  const auto print = [&](const char* format, auto... values) {
    return static_cast<size_t>(std::snprintf(out, capacity, format, entry.number, called, call.text, values...));
  };
  switch (entry.state) {
    case State::kWaiting:
      return print("%" PRIu64 " at %.3f ms: %s: waiting\n");
    case State::kRunning:
      return print("%" PRIu64 " at %.3f ms: %s: running for %.3f ms\n", milliseconds(Clock::now() - entry.started));
    case State::kEnded:
      break;
  }
  const double took = milliseconds(entry.ended - entry.called);
  if (entry.result.ok()) return print("%" PRIu64 " at %.3f ms: %s: done after %.3f ms\n", took);
  return print("%" PRIu64 " at %.3f ms: %s: failed after %.3f ms: %s\n", took, entry.result.message);
}

}  // namespace halftone
