#include "analysis/trace_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "temporary_folder.h"

namespace halftone::analysis {
namespace {

using nlohmann::json;

Trace small_trace() {
  Trace trace;
  trace.begin_ns = 1'000;
  trace.threads[7] = "thread";
  trace.events.push_back({"matmul", TraceKind::kOperation, 7, 3'500, 4'123'456});
  trace.events.push_back({"\"quoted\\ name\"", TraceKind::kLayer, 7, 1'000, 5'000'000});
  trace.dropped = 3;
  return trace;
}

json read_json_file(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file);
}

class TraceFileTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("trace.json");
};

TEST_F(TraceFileTest, HoldsCompleteEventsInMicroseconds) {
  write_trace(system_io(), path_, small_trace());
  const json file = read_json_file(path_);
  EXPECT_EQ(file["otherData"]["dropped_events"], 3);
  const json& events = file["traceEvents"];
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["ph"], "M");
  EXPECT_EQ(events[0]["name"], "thread_name");
  EXPECT_EQ(events[0]["args"]["name"], "thread");
  EXPECT_EQ(events[1]["ph"], "X");
  EXPECT_EQ(events[1]["name"], "matmul");
  EXPECT_EQ(events[1]["cat"], "operation");
  EXPECT_EQ(events[1]["tid"], 7);
  EXPECT_DOUBLE_EQ(events[1]["ts"], 2.5);
  EXPECT_DOUBLE_EQ(events[1]["dur"], 4119.956);
  EXPECT_EQ(events[2]["name"], "\"quoted\\ name\"");
  EXPECT_EQ(events[2]["cat"], "layer");
  EXPECT_DOUBLE_EQ(events[2]["ts"], 0.0);
}

TEST_F(TraceFileTest, HoldsMoreEventsThanOnePieceOfText) {
  Trace trace = small_trace();
  for (int i = 0; i < 5'000; ++i) trace.events.push_back({"relu", TraceKind::kBackward, 7, 2'000 + i, 3'000 + i});
  write_trace(system_io(), path_, trace);
  const json file = read_json_file(path_);
  ASSERT_EQ(file["traceEvents"].size(), 5'003u);
  EXPECT_EQ(file["traceEvents"].back()["cat"], "backward");
  EXPECT_DOUBLE_EQ(file["traceEvents"].back()["ts"], 5.999);
}

TEST_F(TraceFileTest, LeavesTheOldFileWhereWritingFails) {
  std::ofstream(path_) << "old";
  Io io = system_io();
  io.write = [](void*, int64_t, uint64_t, const void*, size_t) -> int64_t { return -ENOSPC; };
  EXPECT_THROW(write_trace(io, path_, small_trace()), Error);
  std::string text;
  std::ifstream(path_) >> text;
  EXPECT_EQ(text, "old");
}

}  // namespace
}  // namespace halftone::analysis
