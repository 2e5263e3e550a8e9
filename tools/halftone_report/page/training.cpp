// The panels of curves: loss, loss scale, norm of the gradients, rate.
#include <algorithm>
#include <map>

#include "draw/markup.h"
#include "page/curves.h"

namespace halftone_report {
namespace {

double loss_of(const Step& step) { return step.loss; }
double norm_of(const Step& step) { return step.norm; }

std::function<bool(const Run&)> has(double Step::*number) {
  return [number](const Run& run) {
    return std::ranges::any_of(run.steps, [&](const Step& step) { return is_known(step.*number); });
  };
}

// Circles on evaluations, triangles above spikes of a quantity.
void mark_events(Chart& chart, const Run& run, size_t place, std::string_view quantity) {
  const std::string colour = Scene::run_class(place);
  for (const Event& event : run.events) {
    const bool is_evaluation = event.kind == EventKind::kEvaluation && quantity == "loss";
    const bool is_spike = event.kind == EventKind::kSpike && event.what == quantity;
    if (!is_known(event.value) || (!is_evaluation && !is_spike)) continue;
    const double x = chart.x(static_cast<double>(event.step));
    const double y = chart.y(event.value);
    const std::string at = coordinate(x) + "\" cy=\"" + coordinate(y);
    const std::string hint = "<title>" + std::string(is_spike ? "spike" : "evaluation") + " in step " +
                             std::to_string(event.step) + ": " + short_text(event.value) + "</title>";
    if (is_evaluation)
      chart.raw("<circle class=\"dot " + colour + "\" cx=\"" + at + "\" r=\"3.5\">" + hint + "</circle>");
    if (is_spike) {
      chart.raw("<path class=\"spike " + colour + "\" d=\"M" + coordinate(x) + " " + coordinate(y - 3) + "l-4-7h8z\">" +
                hint + "</path>");
    }
  }
}

bool has_events(const Scene& scene, EventKind kind, std::string_view quantity) {
  return std::ranges::any_of(scene.runs, [&](const Run& run) {
    return std::ranges::any_of(run.events, [&](const Event& event) {
      return event.kind == kind && (quantity.empty() || event.what == quantity);
    });
  });
}

// A sentence for each run that has steps whose number is not finite.
std::string mark_all_not_finite(Chart& chart, const Scene& scene, const StepNumber& number, std::string_view noun) {
  std::string text;
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    const std::vector<Point> points = points_of(scene.runs[i], number);
    const int64_t count = mark_not_finite(chart, points, "line " + Scene::run_class(i));
    if (count == 0) continue;
    text += words(scene.name_of(i) + ": " + std::string(noun) + " was not finite in " + count_text(double(count)) +
                  " of " + count_text(double(points.size())) + " steps (crosses).");
  }
  return text;
}

std::string no_numbers(const Scene& scene, const StepNumber& number, std::string_view noun, std::string_view absent) {
  const bool has_some =
      std::ranges::any_of(scene.runs, [&](const Run& run) { return !points_of(run, number).empty(); });
  return has_some ? no_chart(std::string(noun) + " was finite in no step.") : no_chart(absent);
}

// One sentence of a run's skipped steps.
std::string skips_of(const Scene& scene, size_t place) {
  const Run& run = scene.runs[place];
  if (run.steps.empty()) return "";
  std::map<std::string, int64_t> tensors;
  for (const Skip& skip : run.skips) {
    if (!skip.tensor.empty()) ++tensors[skip.tensor];
  }
  std::vector<std::pair<std::string, int64_t>> order(tensors.begin(), tensors.end());
  std::ranges::stable_sort(order, std::greater<>(), [](const auto& one) { return one.second; });
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min<size_t>(order.size(), 3); ++i) {
    names.push_back(element("code", {}, escaped(order[i].first)) + " (" + count_text(double(order[i].second)) + ")");
  }
  const double share = double(run.skips.size()) / double(run.steps.size());
  return words((scene.has_several() ? scene.name_of(place) + ": " : "") + count_text(double(run.skips.size())) +
               " of " + count_text(double(run.steps.size())) + " steps were skipped (" + share_text(share) + ")" +
               (names.empty() ? "" : "; most often for " + listed(names)) + ".");
}

// Short lines at the bottom where steps were skipped, one row for each run.
void mark_skips(Chart& chart, const Run& run, size_t place) {
  Path ticks;
  const double y = chart.bottom() - 9.0 * double(place % 4);
  double last = -1;
  for (const Skip& skip : run.skips) {
    const double x = chart.x(double(skip.step));
    if (x - last < 0.5) continue;
    last = x;
    ticks.move(x, y);
    ticks.line(x, y - 8);
  }
  chart.path(ticks, "tick " + Scene::run_class(place));
}

}  // namespace

Panel loss_panel(const Scene& scene) {
  Panel panel{"loss", "Loss", {}};
  std::optional<Chart> chart = curves(scene, loss_of, {.title = "loss"});
  if (!chart) {
    panel.body = no_numbers(scene, loss_of, "The loss", "The record has no loss.");
    return panel;
  }
  for (size_t i = 0; i < scene.runs.size(); ++i) mark_events(*chart, scene.runs[i], i, "loss");
  const std::string text = mark_all_not_finite(*chart, scene, loss_of, "the loss");
  panel.body = chart->svg("Loss over steps") + legend_of_runs(scene, has(&Step::loss)) + text;
  const bool has_evaluations = has_events(scene, EventKind::kEvaluation, {});
  const bool has_spikes = has_events(scene, EventKind::kSpike, "loss");
  if (has_evaluations || has_spikes) {
    panel.body +=
        words(std::string(has_evaluations ? "Circles: evaluations. " : "") + (has_spikes ? "Triangles: spikes." : ""));
  }
  return panel;
}

Panel scale_panel(const Scene& scene) {
  Panel panel{"scale", "Loss scale and skipped steps", {}};
  const auto scale = [](const Step& step) { return step.scale; };
  std::optional<Chart> chart = curves(scene, scale, {.title = "loss scale", .log_base = 2, .with_means = false});
  std::string text;
  bool has_skips = false;
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    text += skips_of(scene, i);
    has_skips = has_skips || !scene.runs[i].skips.empty();
    if (chart) mark_skips(*chart, scene.runs[i], i);
  }
  if (chart && has_skips) text += words("Short lines at the bottom: skipped steps.");
  panel.body =
      (chart ? chart->svg("Loss scale over steps, and skipped steps") + legend_of_runs(scene, has(&Step::scale))
             : no_chart("No run of the record scales its loss.")) +
      text;
  return panel;
}

Panel norm_panel(const Scene& scene) {
  Panel panel{"norm", "Norm of the gradients", {}};
  std::optional<Chart> chart = curves(scene, norm_of, {.title = "Euclidean norm", .log_base = 10});
  if (!chart) {
    panel.body = no_numbers(scene, norm_of, "The norm", "The record has no norms of gradients.");
    return panel;
  }
  for (size_t i = 0; i < scene.runs.size(); ++i) mark_events(*chart, scene.runs[i], i, "grad_norm");
  const std::string text = mark_all_not_finite(*chart, scene, norm_of, "the norm");
  panel.body = chart->svg("Norm of the gradients over steps") + legend_of_runs(scene, has(&Step::norm)) + text;
  if (has_events(scene, EventKind::kSpike, "grad_norm")) panel.body += words("Triangles: spikes.");
  return panel;
}

Panel rate_panel(const Scene& scene) {
  Panel panel{"rate", "Rate", {}};
  const std::optional<Chart> chart =
      curves(scene, [](const Step& step) { return step.rate; }, {.title = "items per second", .with_zero = true});
  panel.body = chart ? chart->svg("Items per second over steps") + legend_of_runs(scene, has(&Step::rate))
                     : no_chart("The record has no rates.");
  return panel;
}

}  // namespace halftone_report
