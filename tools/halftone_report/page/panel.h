// A panel of the report: a title, words, and charts of all runs. Where the runs have no numbers for it, it says so in
// words.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draw/chart.h"
#include "record/run.h"

namespace halftone_report {

struct Panel {
  std::string id;
  std::string title;
  std::string body;  // markup
};

// All charts over time have the same range of steps.
struct Scene {
  explicit Scene(std::span<const Run> all);

  std::span<const Run> runs;
  double first_step = 1, last_step = 1;

  Axis steps() const { return Axis::linear(first_step, last_step, Unit::kNone, 6); }
  // The class of a run's curves: seven colours; further runs have other dashes.
  static std::string run_class(size_t run);
  // How the page names a run, escaped.
  std::string name_of(size_t run) const;
  bool has_several() const { return runs.size() > 1; }
};

// A paragraph; the text is markup.
std::string words(const std::string& text);
// The paragraph in place of a chart that would be empty.
std::string no_chart(std::string_view text);

// An entry of a legend: a line of a class, or a field of it.
struct Key {
  std::string css_class;
  std::string text;  // markup
};
std::string legend(const std::vector<Key>& keys, bool with_fields);
// One key for each run that `has` it; empty for a single run.
std::string legend_of_runs(const Scene& scene, const std::function<bool(const Run&)>& has);
// A heading above a chart of one run; empty where there is only one.
std::string heading_of(const Scene& scene, size_t run);
// "a, b and c"; the parts are markup.
std::string listed(const std::vector<std::string>& parts);

Panel loss_panel(const Scene& scene);
Panel scale_panel(const Scene& scene);
Panel norm_panel(const Scene& scene);
Panel rate_panel(const Scene& scene);
Panel time_panel(const Scene& scene);
Panel memory_panel(const Scene& scene);
Panel event_panel(const Scene& scene);
Panel error_panel(const Scene& scene);
Panel underflow_panel(const Scene& scene);
Panel range_panel(const Scene& scene);
Panel heat_panel(const Scene& scene);
Panel update_panel(const Scene& scene);

}  // namespace halftone_report
