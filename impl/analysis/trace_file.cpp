#include "analysis/trace_file.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "core/file.h"
#include "core/text/json_writer.h"

namespace halftone::analysis {

namespace {

// The text is written in pieces, since a trace of a million events takes a hundred megabytes.
constexpr size_t kPiece = size_t{1} << 16;

const char* category_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::kOperation:
      return "operation";
    case TraceKind::kLayer:
      return "layer";
    case TraceKind::kBackward:
      return "backward";
    case TraceKind::kWorker:
      return "worker";
  }
  return "";
}

// Microseconds with three digits, exactly.
std::string microseconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
  return text;
}

class TraceWriter {
 public:
  TraceWriter(File& file, const Trace& trace) : file_(file), trace_(trace) {}

  void write() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_events\":" + std::to_string(trace_.dropped) +
            "},\"traceEvents\":[";
    separator_ = "\n";
    for (const auto& [thread, name] : trace_.threads) add_thread(thread, name);
    for (const TraceEvent& event : trace_.events) add(event);
    text_ += "\n]}\n";
    flush();
  }

 private:
  void add_thread(int32_t thread, const std::string& name) {
    begin("M", thread, "thread_name");
    text_ += ",\"args\":{\"name\":" + quoted(name) + "}}";
  }

  void add(const TraceEvent& event) {
    begin("X", event.thread, event.name);
    text_ += ",\"cat\":\"";
    text_ += category_of(event.kind);
    text_ += "\",\"ts\":" + microseconds(event.begin_ns - trace_.begin_ns) +
             ",\"dur\":" + microseconds(event.end_ns - event.begin_ns) + "}";
    if (text_.size() >= kPiece) flush();
  }

  void begin(const char* phase, int32_t thread, const char* name) {
    text_ += std::exchange(separator_, ",\n");
    text_ += "{\"ph\":\"";
    text_ += phase;
    text_ += "\",\"pid\":" + process_ + ",\"tid\":" + std::to_string(thread) + ",\"name\":" + quoted(name);
  }

  void flush() {
    file_.write(written_, text_.data(), text_.size());
    written_ += text_.size();
    text_.clear();
  }

  File& file_;
  const Trace& trace_;
  const std::string process_ = std::to_string(getpid());
  const char* separator_ = "";
  std::string text_;
  uint64_t written_ = 0;
};

}  // namespace

void write_trace(const Io& io, const std::string& path, const Trace& trace) {
  replace_file(io, path, [&](File& file) { TraceWriter(file, trace).write(); });
}

}  // namespace halftone::analysis
