// The samples of a run's tensors as the panels need them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "page/panel.h"
#include "record/histogram.h"

namespace halftone_report {

// Those of a kind that have samples, in the order of the record, which is that of the model.
std::vector<const Tensor*> tensors_of(const Run& run, TensorKind kind);
std::vector<std::string> names_of(const std::vector<const Tensor*>& tensors);
bool has_tensors(const Scene& scene, TensorKind kind);
// The paragraph for a record without samples of the kind.
std::string no_tensors(std::string_view plural);

// All gradients of one step together.
struct Gradients {
  int64_t step = 0;
  Tally stored;          // with their scale
  Tally unscaled;        // without it
  double largest = 0.0;  // magnitude without scale
  double scale = 1.0;
};
std::vector<Gradients> gradients_of(const Run& run);

// Lines through points, which are not thinned: samples are few.
struct SampledLine {
  std::vector<Point> points;
  std::string css_class;
};
struct SampledStyle {
  std::string_view title;
  Unit unit;
  int log_base;
  std::string_view description;
};
// Empty where no number is above 0.
std::string sampled_chart(const Scene& scene, const std::vector<SampledLine>& lines, const SampledStyle& style);

}  // namespace halftone_report
