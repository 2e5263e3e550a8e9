#include "summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "draw/markup.h"
#include "draw/number.h"
#include "record/histogram.h"

namespace halftone_report {
namespace {

constexpr int kLeastRows = 14;  // without tensors
constexpr size_t kMostTensors = 8;
constexpr int kFirstExponentOfFp16 = -25;  // smaller numbers become 0
constexpr double kMentioned = 0.001;       // share

double last_of(const Run& run, double Step::*number) {
  for (auto step = run.steps.rbegin(); step != run.steps.rend(); ++step) {
    if (is_there((*step).*number)) return (*step).*number;
  }
  return kAbsent;
}

std::string line_of(std::string_view name, const std::string& text) {
  return std::string(name) + std::string(12 - name.size(), ' ') + text + "\n";
}

// Means of equal parts of the losses, as heights of characters.
std::string curve_of(const Run& run, const Screen& screen) {
  constexpr std::string_view kAscii = "_.-=+*#@";
  std::vector<double> losses;
  for (const Step& step : run.steps) {
    if (is_known(step.loss)) losses.push_back(step.loss);
  }
  const size_t width = std::min<size_t>(losses.size(), static_cast<size_t>(std::clamp(screen.columns - 36, 8, 60)));
  std::vector<double> means;
  for (size_t i = 0; i < width; ++i) {
    const auto begin = losses.begin() + std::ssize(losses) * std::ptrdiff_t(i) / std::ptrdiff_t(width);
    const auto end = losses.begin() + std::ssize(losses) * std::ptrdiff_t(i + 1) / std::ptrdiff_t(width);
    means.push_back(std::accumulate(begin, end, 0.0) / double(end - begin));
  }
  if (means.empty()) return "";
  const auto [low, high] = std::ranges::minmax(means);
  std::string curve;
  for (const double mean : means) {
    const int level = high > low ? std::min(7, static_cast<int>((mean - low) / (high - low) * 8)) : 3;
    if (screen.has_utf8) {
      curve.append("\u2581").back() += static_cast<char>(level);  // U+2581 to U+2588 differ in their last byte
    } else {
      curve += kAscii[static_cast<size_t>(level)];
    }
  }
  return short_text(means.front()) + " " + curve + " " + short_text(means.back());
}

std::string skipped_text(const Run& run) {
  if (run.skips.empty()) return "none";
  const Skip& last = run.skips.back();
  const std::string where = last.tensor.empty() ? "" : " in " + printable(last.tensor);
  return count_text(double(run.skips.size())) + " of " + count_text(double(run.steps.size())) + ", last in step " +
         count_text(double(last.step)) + where;
}

// Those of the last step that have numbers.
std::string columns_text(const std::vector<Column>& columns, std::string (*text)(double, int)) {
  std::string list;
  for (const Column& column : columns) {
    if (column.values.empty() || !is_known(column.values.back()) || column.values.back() == 0) continue;
    list += (list.empty() ? "" : ", ") + printable(column.name) + " " + text(column.values.back(), 2);
  }
  return list.empty() ? list : " (" + list + ")";
}

struct Finding {
  double weight = 0;  // larger ones are worse
  std::string text;
};

// The worst of a tensor: numbers that are not finite, then gradients that FP16 loses and updates that were lost.
Finding finding_of(const Tensor& tensor) {
  const Sample& newest = tensor.samples.back();
  const double broken = newest.infinities + newest.nans;
  if (broken > 0) return {1 + broken / std::max(1.0, newest.elements), count_text(broken) + " infinities and NaN"};
  if (tensor.kind == TensorKind::kGradient) {
    Tally tally;
    tally.add(newest.exponents);
    const double share = tally.total() > 0 ? tally.below(kFirstExponentOfFp16) / tally.total() : 0.0;
    return {share, share_text(share) + " becomes 0 in FP16 at this scale"};
  }
  const double updated = std::accumulate(newest.ratios.counts.begin(), newest.ratios.counts.end(), 0.0);
  const double share = newest.lost > 0 ? newest.lost / (newest.lost + updated) : 0.0;
  return {share, share_text(share) + " of the updates are lost"};
}

std::string worst_tensors(const Run& run, size_t most) {
  constexpr const char* kKinds[] = {"parameter", "gradient", "activation"};
  std::vector<Finding> findings;
  int64_t step = 0;
  for (const Tensor& tensor : run.tensors) {
    if (tensor.samples.empty()) continue;
    step = std::max(step, tensor.samples.back().step);
    Finding finding = finding_of(tensor);
    finding.text = "  " + std::string(kKinds[static_cast<size_t>(tensor.kind)]) + " " + printable(tensor.name) + ": " +
                   finding.text;
    if (finding.weight >= kMentioned) findings.push_back(std::move(finding));
  }
  if (step == 0) return line_of("tensors", "the record has no samples yet");
  std::ranges::stable_sort(findings, std::greater<>(), &Finding::weight);
  std::string text = line_of(
      "tensors", findings.empty() ? "none loses numbers" : count_text(double(findings.size())) + " lose numbers");
  text.insert(text.size() - 1, " (step " + count_text(double(step)) + ")");
  for (size_t i = 0; i < std::min(most, findings.size()); ++i) text += findings[i].text + "\n";
  return text;
}

// Lines end at the right edge of the screen.
std::string cut_lines(std::string_view text, int columns) {
  std::string result;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    while (length_of(line) > static_cast<size_t>(columns)) {
      while ((static_cast<unsigned char>(line.back()) & 0xc0) == 0x80) line.pop_back();
      line.pop_back();  // the first byte of the character
    }
    result += line + "\n";
    text.remove_prefix(end + 1);
  }
  return result;
}

}  // namespace

std::string summary_of(const Run& run, const Screen& screen) {
  const std::string head = printable(run.label) + (run.label == run.path ? "" : "  " + printable(run.path)) + "\n";
  if (run.steps.empty()) return cut_lines(head + line_of("step", "the record has no steps yet"), screen.columns);
  const auto power = [&](double scale) {
    return screen.has_utf8 || !(scale > 0) ? power_text(scale) : "2^" + std::to_string(std::ilogb(scale));
  };
  std::string text = head;
  text += line_of("step", count_text(double(run.steps.back().step)));
  text += line_of("loss", short_text(last_of(run, &Step::loss), 4));
  text += line_of("", curve_of(run, screen));
  text += line_of("skipped", skipped_text(run));
  text += line_of("loss scale", is_there(last_of(run, &Step::scale)) ? power(last_of(run, &Step::scale)) : "none");
  text += line_of("norm", short_text(last_of(run, &Step::norm)));
  text += line_of("rate", short_text(last_of(run, &Step::rate)) + " items/s, learning rate " +
                              short_text(last_of(run, &Step::learning_rate)));
  text += line_of("time", seconds_text(run.steps.back().seconds) + columns_text(run.parts, seconds_text));
  text += line_of("memory", "peak " + bytes_text(run.peaks.back()) + columns_text(run.memory, bytes_text));
  const int rows = std::max(0, screen.rows - kLeastRows);
  text += worst_tensors(run, std::min(kMostTensors, static_cast<size_t>(rows)));
  return cut_lines(text, screen.columns);
}

}  // namespace halftone_report
