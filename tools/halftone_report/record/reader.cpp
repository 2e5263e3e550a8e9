#include "record/reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace halftone_report {
namespace {

constexpr double kVersion = 1;
constexpr size_t kPart = size_t{1} << 20;

// Steps that have no number in a column are absent there.
void append(std::vector<Column>& columns, size_t steps, const std::vector<std::pair<std::string, double>>& values) {
  for (const auto& [name, value] : values) {
    const auto is_named = [&key = name](const Column& one) { return one.name == key; };  // clang 14 captures no binding
    auto found = std::find_if(columns.begin(), columns.end(), is_named);
    if (found == columns.end()) found = columns.insert(found, {name, {}});
    found->values.resize(steps - 1, kAbsent);
    found->values.push_back(value);
  }
  for (Column& column : columns) column.values.resize(steps, kAbsent);
}

double removed(std::vector<std::pair<std::string, double>>& values, std::string_view name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.first == name; });
  if (found == values.end()) return kAbsent;
  const double value = found->second;
  values.erase(found);
  return value;
}

template <class Element>
void cut_after(std::vector<Element>& elements, int64_t step) {
  std::erase_if(elements, [&](const Element& one) { return one.step > step; });
}

}  // namespace

Reader::Reader(std::string path, Samples samples) : path_(std::move(path)), samples_(samples) { open(); }

void Reader::open() {
  file_.reset(std::fopen(path_.c_str(), "rb"));
  struct stat status {};
  if (file_ == nullptr || fstat(fileno(file_.get()), &status) != 0) {
    throw std::runtime_error(path_ + ": " + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) throw std::runtime_error(path_ + ": is a folder");
  run_ = {};
  run_.path = run_.label = path_;
  places_.clear();
  rest_.clear();
  lines_ = 0;
}

// Another file has the name now, or this one is shorter than what was read.
bool Reader::is_replaced() const {
  struct stat own {};
  struct stat named {};
  if (fstat(fileno(file_.get()), &own) != 0 || stat(path_.c_str(), &named) != 0) return false;
  return own.st_ino != named.st_ino || own.st_dev != named.st_dev ||
         (S_ISREG(own.st_mode) && own.st_size < std::ftell(file_.get()));
}

bool Reader::read() {
  const bool is_new = is_replaced();
  if (is_new) open();
  std::clearerr(file_.get());  // the end may have moved
  std::vector<char> part(kPart);
  bool has_more = is_new;
  while (const size_t size = std::fread(part.data(), 1, part.size(), file_.get())) {
    take({part.data(), size});
    has_more = true;
  }
  if (std::ferror(file_.get()) != 0) throw std::runtime_error(path_ + ": " + std::strerror(errno));
  return has_more;
}

void Reader::take(std::string_view text) {
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (rest_.empty()) {
      take_line(text.substr(0, end));
    } else {
      take_line(rest_.append(text.substr(0, end)));
      rest_.clear();
    }
    text.remove_prefix(end + 1);
  }
  rest_ += text;
}

void Reader::take_line(std::string_view text) try {
  ++lines_;
  Line line = parse_line(text);
  if (lines_ == 1 && line.record != "run") throw std::runtime_error("a record begins with a line of the run");
  if (line.record == "run") take_run(line);
  if (line.record == "step") take_step(line);
  if (line.record == "tensor") take_tensor(line);
  if (line.record == "event") take_event(line);
} catch (const std::runtime_error& error) {
  throw std::runtime_error(path_ + ":" + std::to_string(lines_) + ": " + error.what());
}

void Reader::take_run(const Line& line) {
  if (!(line.version >= 1)) throw std::runtime_error("version: expected a version of records");
  if (line.version > kVersion) {
    throw std::runtime_error("version: the record is of a newer version than this program, which reads version 1");
  }
  if (!line.label.empty()) run_.label = line.label;
  run_.library = line.library;
  run_.device = line.device;
  run_.threads = line.threads;
  forget_after(static_cast<int64_t>(line.step));
}

void Reader::forget_after(int64_t step) {
  cut_after(run_.steps, step);
  cut_after(run_.skips, step);
  cut_after(run_.events, step);
  for (Tensor& tensor : run_.tensors) cut_after(tensor.samples, step);
  run_.peaks.resize(run_.steps.size());
  for (Column& column : run_.parts) column.values.resize(run_.steps.size());
  for (Column& column : run_.memory) column.values.resize(run_.steps.size());
}

void Reader::take_step(const Line& line) {
  const auto step = static_cast<int64_t>(line.step);
  if (!run_.steps.empty() && step <= run_.steps.back().step)
    throw std::runtime_error("step: is not after the last one");
  const bool is_skipped = line.outcome == "skipped";
  run_.steps.push_back(
      {step, is_skipped, line.loss, line.learning_rate, line.loss_scale, line.grad_norm, line.rate, line.seconds});
  if (is_skipped) run_.skips.push_back({step, line.overflow});
  auto memory = line.memory;
  run_.peaks.push_back(removed(memory, "peak"));
  append(run_.parts, run_.steps.size(), line.parts);
  append(run_.memory, run_.steps.size(), memory);
}

Tensor& Reader::tensor_of(TensorKind kind, const Line& line) {
  const auto [place, is_new] = places_.try_emplace(line.kind + '\n' + line.op + '\n' + line.name, run_.tensors.size());
  if (is_new) run_.tensors.push_back({kind, line.name, line.op, {}, {}});
  return run_.tensors[place->second];
}

void Reader::take_tensor(Line& line) {
  constexpr std::string_view kKinds[] = {"parameter", "gradient", "activation"};
  const auto* const kind = std::find(std::begin(kKinds), std::end(kKinds), line.kind);
  if (kind == std::end(kKinds)) return;  // of a newer library
  Tensor& tensor = tensor_of(static_cast<TensorKind>(kind - std::begin(kKinds)), line);
  tensor.dtype = line.dtype;
  if (samples_ == Samples::kNewest) tensor.samples.clear();
  tensor.samples.push_back(std::move(line.sample));
}

void Reader::take_event(const Line& line) {
  constexpr std::string_view kKinds[] = {"spike", "evaluation", "fallback", "checkpoint"};
  const auto* const kind = std::find(std::begin(kKinds), std::end(kKinds), line.event);
  if (kind == std::end(kKinds)) return;  // of a newer library
  const bool is_evaluation = line.event == "evaluation";
  run_.events.push_back({static_cast<int64_t>(line.step), static_cast<EventKind>(kind - std::begin(kKinds)),
                         line.quantity.empty() ? line.module : line.quantity, line.from, line.to,
                         is_evaluation ? line.loss : line.value, line.mean, line.deviation});
}

Run read_run(const std::string& path) {
  Reader reader(path, Samples::kAll);
  reader.read();
  return reader.run();
}

}  // namespace halftone_report
