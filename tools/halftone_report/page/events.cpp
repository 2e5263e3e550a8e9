// The panel of events: a table of evaluations, spikes, fallbacks and checkpoints.
#include <algorithm>

#include "draw/markup.h"
#include "page/panel.h"

namespace halftone_report {
namespace {

constexpr size_t kMostRows = 60;

struct Row {
  const Event* event;
  size_t run;
};

std::string_view name_of(EventKind kind) {
  constexpr std::string_view kNames[] = {"spike", "evaluation", "fallback", "checkpoint"};
  return kNames[static_cast<size_t>(kind)];
}

std::string detail_of(const Event& event) {
  switch (event.kind) {
    case EventKind::kSpike: {
      const std::string usual =
          is_known(event.mean) ? ", usually " + short_text(event.mean) + " \u00b1 " + short_text(event.deviation) : "";
      return element("code", {}, escaped(event.what)) + " " + short_text(event.value) + usual;
    }
    case EventKind::kEvaluation:
      return "loss " + short_text(event.value, 4);
    case EventKind::kFallback:
      return element("code", {}, escaped(event.what)) + " from " + escaped(event.from) + " to " + escaped(event.to);
    case EventKind::kCheckpoint:
      return "";
  }
  return {};
}

// Fallbacks first, as they change the run; checkpoints last. Later ones of a kind first.
std::vector<Row> rows_of(const Scene& scene) {
  std::vector<Row> rows;
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    for (const Event& event : scene.runs[i].events) rows.push_back({&event, i});
  }
  constexpr int kOrder[] = {1, 2, 0, 3};
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
    const int order_a = kOrder[static_cast<size_t>(a.event->kind)],
              order_b = kOrder[static_cast<size_t>(b.event->kind)];
    return order_a != order_b ? order_a < order_b : a.event->step > b.event->step;
  });
  return rows;
}

std::string counts_of(const std::vector<Row>& rows) {
  std::vector<std::string> parts;
  for (const EventKind kind :
       {EventKind::kFallback, EventKind::kSpike, EventKind::kEvaluation, EventKind::kCheckpoint}) {
    const auto count = std::ranges::count_if(rows, [&](const Row& row) { return row.event->kind == kind; });
    if (count == 0) continue;
    parts.push_back(count_text(double(count)) + " " + std::string(name_of(kind)) + (count == 1 ? "" : "s"));
  }
  return listed(parts);
}

std::string row_markup(const Scene& scene, const Row& row) {
  return "<tr><td class=\"number\">" + count_text(double(row.event->step)) + "</td>" +
         (scene.has_several() ? element("td", {}, scene.name_of(row.run)) : "") +
         element("td", {}, name_of(row.event->kind)) + element("td", {}, detail_of(*row.event)) + "</tr>";
}

}  // namespace

Panel event_panel(const Scene& scene) {
  Panel panel{"events", "Events", {}};
  const std::vector<Row> rows = rows_of(scene);
  if (rows.empty()) {
    panel.body = no_chart("The record has no events: no spike, fallback, evaluation or checkpoint.");
    return panel;
  }
  std::string table = "<thead><tr><th>step</th>" + std::string(scene.has_several() ? "<th>run</th>" : "") +
                      "<th>event</th><th></th></tr></thead><tbody>";
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) table += row_markup(scene, rows[i]);
  panel.body =
      words(counts_of(rows) + ".") + "<div class=\"scroll\">" + element("table", {}, table + "</tbody>") + "</div>";
  if (rows.size() > kMostRows) {
    panel.body += words("The table leaves out " + count_text(double(rows.size() - kMostRows)) + " further ones.");
  }
  return panel;
}

}  // namespace halftone_report
