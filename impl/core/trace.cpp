#include "core/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/fork_hook.h"

namespace halftone {

constinit std::atomic<bool> internal::is_tracing{false};

namespace {

int32_t this_thread() noexcept {
  thread_local const auto number = static_cast<int32_t>(syscall(SYS_gettid));
  return number;
}

// Never destroyed: other threads may still end spans while the process exits.
struct Recorder {
  ForkMutex mutex;
  bool is_on = false;
  Trace trace;
  int64_t max_events = 0;
  std::set<std::string> names;  // of all traces, since events point to them
};
Recorder& recorder() {
  static Recorder* const recorder = new Recorder;
  return *recorder;
}

// REQUIRES: the mutex is held.
void set_on(Recorder& current, bool is_on) noexcept {
  current.is_on = is_on;
  internal::is_tracing.store(is_on, std::memory_order_relaxed);
}

// Not the clock of a context, which is a function of the caller that may use the library.
int64_t now() noexcept {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

void start_trace(int64_t max_events) {
  Recorder& current = recorder();
  const std::lock_guard lock(current.mutex);
  if (current.is_on) fail(Code::kState, "", "a trace is on already; stop it first");
  current.trace = Trace();
  current.max_events = max_events;
  current.trace.begin_ns = now();
  set_on(current, true);
}

Trace stop_trace() {
  Recorder& current = recorder();
  const std::lock_guard lock(current.mutex);
  if (!current.is_on) fail(Code::kState, "", "no trace is on");
  set_on(current, false);
  return std::exchange(current.trace, Trace());
}

void resume_trace(Trace trace) {
  Recorder& current = recorder();
  const std::lock_guard lock(current.mutex);
  if (current.is_on) return;
  current.trace = std::move(trace);
  set_on(current, true);
}

void name_trace_thread(const char* name) noexcept { thread().name = name; }

const char* trace_name(const std::string& name) noexcept {
  try {
    Recorder& current = recorder();
    const std::lock_guard lock(current.mutex);
    return current.names.insert(name).first->c_str();
  } catch (...) {
    return "?";
  }
}

void TraceSpan::begin(TraceKind kind, const char* name) noexcept {
  begin_ns_ = now();
  kind_ = kind;
  name_ = name != nullptr ? name : "work";
  outer_ = std::exchange(thread().trace_span, name_);
}

void TraceSpan::end() noexcept {
  const int64_t end_ns = now();
  thread().trace_span = outer_;
  Recorder& current = recorder();
  const std::lock_guard lock(current.mutex);
  Trace& trace = current.trace;
  // The trace of the beginning may have ended, and another may have begun.
  if (!current.is_on || begin_ns_ < trace.begin_ns) return;
  if (static_cast<int64_t>(trace.events.size()) >= current.max_events) {
    ++trace.dropped;
    return;
  }
  try {
    trace.threads.try_emplace(this_thread(), thread().name);
    trace.events.push_back({name_, kind_, this_thread(), begin_ns_, end_ns});
  } catch (...) {
    ++trace.dropped;
  }
}

}  // namespace halftone
