#include "page/page.h"

#include <algorithm>
#include <vector>

#include "draw/markup.h"
#include "page/panel.h"
#include "page/style.h"

namespace halftone_report {
namespace {

// Nothing may run in the page, and it may load nothing: texts of a record are only texts.
constexpr const char* kHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline'\">";

std::string cell(const std::string& text) { return element("td", {}, text); }
std::string number_cell(const std::string& text) { return element("td", "number", text); }

double last_of(const Run& run, double Step::*number) {
  for (auto step = run.steps.rbegin(); step != run.steps.rend(); ++step) {
    if (is_there((*step).*number)) return (*step).*number;
  }
  return kAbsent;
}

double evaluation_of(const Run& run) {
  double loss = kAbsent;
  for (const Event& event : run.events) {
    if (event.kind == EventKind::kEvaluation) loss = event.value;
  }
  return loss;
}

double median_seconds(const Run& run) {
  std::vector<double> seconds;
  for (const Step& step : run.steps) {
    if (is_known(step.seconds)) seconds.push_back(step.seconds);
  }
  if (seconds.empty()) return kAbsent;
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

std::string device_of(const Run& run) {
  if (!is_known(run.threads)) return escaped(run.device);
  return escaped(run.device) + ", " + count_text(run.threads) + (run.threads == 1 ? " thread" : " threads");
}

std::string row_of(const Scene& scene, size_t place) {
  const Run& run = scene.runs[place];
  const double peak = run.peaks.empty() ? kAbsent : run.peaks.back();
  return "<tr>" + cell(scene.name_of(place)) + cell(device_of(run)) +
         number_cell(count_text(double(run.steps.size()))) + number_cell(count_text(double(run.skips.size()))) +
         number_cell(short_text(last_of(run, &Step::loss), 4)) + number_cell(short_text(evaluation_of(run), 4)) +
         number_cell(seconds_text(median_seconds(run))) + number_cell(short_text(last_of(run, &Step::rate))) +
         number_cell(bytes_text(peak)) + "</tr>";
}

std::string table_of_runs(const Scene& scene) {
  std::string rows;
  for (size_t i = 0; i < scene.runs.size(); ++i) rows += row_of(scene, i);
  std::string heads = "<th>run</th><th>device</th>";
  for (const char* name :
       {"steps", "skipped", "last loss", "last evaluation", "median step", "items/s", "peak memory"}) {
    heads += element("th", "number", name);
  }
  return "<div class=\"scroll\"><table><thead><tr>" + heads + "</tr></thead><tbody>" + rows + "</tbody></table></div>";
}

std::string section(const char* title, const std::vector<Panel>& panels) {
  std::string text = element("h2", {}, title) + "<div class=\"panels\">";
  for (const Panel& panel : panels) {
    text += "\n<section class=\"panel\" id=\"" + panel.id + "\">" + element("h3", {}, panel.title) + panel.body +
            "</section>";
  }
  return text + "</div>";
}

std::string links_to(const std::vector<Panel>& panels) {
  std::string links;
  for (const Panel& panel : panels) links += "<a href=\"#" + panel.id + "\">" + panel.title + "</a> ";
  return links;
}

std::string title_of(const Scene& scene) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min<size_t>(scene.runs.size(), 4); ++i) names.push_back(scene.name_of(i));
  if (scene.runs.size() > names.size()) names.push_back(std::to_string(scene.runs.size() - names.size()) + " more");
  return listed(names);
}

}  // namespace

std::string page_of(std::span<const Run> runs) {
  const Scene scene(runs);
  const std::vector<Panel> training = {loss_panel(scene), scale_panel(scene),  norm_panel(scene), rate_panel(scene),
                                       time_panel(scene), memory_panel(scene), event_panel(scene)};
  const std::vector<Panel> precision = {error_panel(scene), underflow_panel(scene), range_panel(scene),
                                        heat_panel(scene), update_panel(scene)};
  const std::string title = title_of(scene);
  return std::string(kHead) + element("title", {}, "halftone: " + title) + element("style", {}, kStyle) +
         "</head><body><header><h1>" + title + "</h1>" + table_of_runs(scene) +
         element("nav", {}, links_to(training) + links_to(precision)) + "</header><main>" +
         section("Training", training) + section("Precision", precision) + "</main><footer>" +
         words("Written by halftone-report " HALFTONE_VERSION ". Colours: Okabe and Ito.") +
         "</footer></body></html>\n";
}

}  // namespace halftone_report
