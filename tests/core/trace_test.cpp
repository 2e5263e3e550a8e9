#include "core/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"

namespace halftone {
namespace {

std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> names;
  for (const TraceEvent& event : trace.events) names.emplace_back(event.name);
  return names;
}

TEST(Trace, HoldsSpansThatBeganAndEndedWithinIt) {
  {
    const TraceSpan before(TraceKind::kOperation, "before");
    start_trace(100);
  }
  {
    const TraceSpan outer(TraceKind::kLayer, [] { return std::string("fc1 (linear)"); });
    const TraceSpan inner(TraceKind::kOperation, "linear");
    EXPECT_STREQ(TraceSpan::innermost(), "linear");
  }
  EXPECT_EQ(TraceSpan::innermost(), nullptr);
  Trace trace;
  {
    const TraceSpan after(TraceKind::kOperation, "after");
    trace = stop_trace();
  }
  EXPECT_EQ(names_of(trace), (std::vector<std::string>{"linear", "fc1 (linear)"}));
  const TraceEvent& inner = trace.events[0];
  const TraceEvent& outer = trace.events[1];
  EXPECT_LE(trace.begin_ns, outer.begin_ns);
  EXPECT_LE(outer.begin_ns, inner.begin_ns);
  EXPECT_LE(inner.begin_ns, inner.end_ns);
  EXPECT_LE(inner.end_ns, outer.end_ns);
  EXPECT_EQ(inner.thread, outer.thread);
  EXPECT_EQ(trace.dropped, 0);
}

TEST(Trace, LeavesOutASpanOfAnEarlierTrace) {
  start_trace(100);
  {
    const TraceSpan span(TraceKind::kOperation, "relu");
    stop_trace();
    start_trace(100);
  }
  EXPECT_TRUE(stop_trace().events.empty());
}

TEST(Trace, MakesNoNameWhileItIsOff) {
  bool was_called = false;
  {
    const TraceSpan span(TraceKind::kLayer, [&] {
      was_called = true;
      return "relu";
    });
  }
  EXPECT_FALSE(was_called);
}

TEST(Trace, CountsEventsBeyondItsLimit) {
  start_trace(2);
  for (int i = 0; i < 5; ++i) const TraceSpan span(TraceKind::kOperation, "relu");
  const Trace trace = stop_trace();
  EXPECT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.dropped, 3);
}

TEST(Trace, IsStartedOnceAndStoppedOnce) {
  EXPECT_THROW(stop_trace(), Error);
  start_trace(1);
  EXPECT_THROW(start_trace(1), Error);
  stop_trace();
  EXPECT_THROW(stop_trace(), Error);
}

TEST(Trace, GoesOnAfterAStopThatCouldNotWrite) {
  start_trace(100);
  { const TraceSpan span(TraceKind::kOperation, "relu"); }
  resume_trace(stop_trace());
  { const TraceSpan span(TraceKind::kOperation, "gelu"); }
  EXPECT_EQ(names_of(stop_trace()), (std::vector<std::string>{"relu", "gelu"}));
}

TEST(Trace, TakesEventsOfAllThreadsUnderTheirNames) {
  constexpr int kThreads = 4;
  constexpr int kSpans = 200;
  start_trace(10'000);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      name_trace_thread("tester");
      for (int k = 0; k < kSpans; ++k) const TraceSpan span(TraceKind::kWorker, "add");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Trace trace = stop_trace();
  EXPECT_EQ(trace.events.size(), static_cast<size_t>(kThreads * kSpans));
  EXPECT_EQ(trace.threads.size(), static_cast<size_t>(kThreads));
  for (const auto& [number, name] : trace.threads) {
    EXPECT_EQ(name, "tester");
    const auto own = [number = number](const TraceEvent& event) { return event.thread == number; };
    EXPECT_EQ(std::count_if(trace.events.begin(), trace.events.end(), own), kSpans);
  }
}

}  // namespace
}  // namespace halftone
