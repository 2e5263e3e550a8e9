// Reads a record from a file that may still grow. One thread at a time.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "record/line.h"
#include "record/run.h"

namespace halftone_report {

// kNewest keeps one sample of each tensor, for a view of what happens now.
enum class Samples { kAll, kNewest };

class Reader {
 public:
  // Throws std::runtime_error with the path where the file cannot be opened.
  Reader(std::string path, Samples samples);

  // Reads what was added since the last call, but for a last line that is not complete. Returns false where nothing was
  // added. A file that has become shorter is read again from its begin. Throws std::runtime_error with the path and the
  // line where the text is no record, or one of a newer version.
  bool read();
  // True: the file ends within a line.
  bool is_cut() const { return !rest_.empty(); }
  const Run& run() const { return run_; }

 private:
  void open();
  bool is_replaced() const;
  void take(std::string_view text);
  void take_line(std::string_view text);
  void take_run(const Line& line);
  void take_step(const Line& line);
  void take_tensor(Line& line);
  void take_event(const Line& line);
  // A run goes on from a checkpoint: what came after this step is run again.
  void forget_after(int64_t step);
  Tensor& tensor_of(TensorKind kind, const Line& line);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::string path_;
  const Samples samples_;
  std::unique_ptr<std::FILE, Close> file_;
  Run run_;
  std::map<std::string, size_t> places_;  // of tensors
  std::string rest_;                      // of a line that is not complete
  int64_t lines_ = 0;
};

// The record of a file as a whole.
Run read_run(const std::string& path);

}  // namespace halftone_report
