// Records when operations, layers, gradients and the pool's threads ran, for a timeline of the process. It is off by
// default: then a span is one load. The layers that do the work make the spans; impl/analysis/trace_file.h writes them.
// Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "core/thread.h"

namespace halftone {

enum class TraceKind : uint8_t {
  kOperation,  // one kernel, named after the operation that calls it
  kLayer,      // the forward of a module, with what runs inside
  kBackward,   // the gradients of one node of the graph, named after its operation
  kWorker,     // the share of a kernel that a thread of the pool takes
};

struct TraceEvent {
  const char* name;  // lives as long as the process
  TraceKind kind;
  int32_t thread;    // the system's number
  int64_t begin_ns;  // by the system's monotonic clock
  int64_t end_ns;
};

struct Trace {
  std::deque<TraceEvent> events;
  std::map<int32_t, std::string> threads;  // the names of the threads that have events
  int64_t begin_ns = 0;
  int64_t dropped = 0;  // events for which there was no room
};

// Begins a trace of at most `max_events`. Throws STATE if there is one already.
void start_trace(int64_t max_events);
// Ends it. Throws STATE if there is none.
Trace stop_trace();
// Goes on with a trace that could not be written, unless a new one has begun.
void resume_trace(Trace trace);

// The name of this thread in traces, for threads of the library; others are called "thread". Kept as a pointer.
void name_trace_thread(const char* name) noexcept;

namespace internal {
extern std::atomic<bool> is_tracing;
}  // namespace internal
inline bool is_tracing() noexcept { return internal::is_tracing.load(std::memory_order_relaxed); }

// A copy of the name that lives as long as the process; "?" without memory for one.
const char* trace_name(const std::string& name) noexcept;

// Records the time from its construction to its destruction, if a trace is on all the while.
class TraceSpan {
 public:
  // `name` lives as long as the process. Null: a share of work whose caller began before the trace.
  TraceSpan(TraceKind kind, const char* name) noexcept {
    if (is_tracing()) [[unlikely]]
      begin(kind, name);
  }
  // For a name that takes work to find: make_name() returns a std::string, and runs while a trace is on.
  template <class MakeName>
  requires requires(MakeName make_name) { std::string(make_name()); }
  TraceSpan(TraceKind kind, const MakeName& make_name) {
    if (is_tracing()) [[unlikely]]
      begin(kind, trace_name(make_name()));
  }
  ~TraceSpan() {
    if (name_ != nullptr) [[unlikely]]
      end();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  // The innermost span of this thread; null without a trace. The pool's threads take it over from their caller.
  static const char* innermost() noexcept { return thread().trace_span; }

 private:
  void begin(TraceKind kind, const char* name) noexcept;
  void end() noexcept;

  const char* name_ = nullptr;
  const char* outer_;
  int64_t begin_ns_;
  TraceKind kind_;
};

}  // namespace halftone
