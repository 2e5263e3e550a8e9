// One line of a record: the members that version 1 has, of all kinds of lines together. Members that are not known are
// skipped.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/run.h"

namespace halftone_report {

struct Line {
  std::string record;
  std::string label, library, device;             // of a run
  std::string outcome, overflow;                  // of a step
  std::string kind, name, op, dtype;              // of a tensor
  std::string event, quantity, module, from, to;  // of an event
  double step = kAbsent, version = kAbsent, threads = kAbsent;
  double loss = kAbsent, learning_rate = kAbsent, loss_scale = kAbsent, grad_norm = kAbsent, rate = kAbsent,
         seconds = kAbsent;
  double value = kAbsent, mean = kAbsent, deviation = kAbsent;
  Sample sample;
  std::vector<std::pair<std::string, double>> parts, memory;
};

// Throws std::runtime_error where the text is no line of a record.
Line parse_line(std::string_view text);

}  // namespace halftone_report
