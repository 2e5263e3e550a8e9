#include "page/panel.h"

#include <algorithm>

#include "draw/markup.h"

namespace halftone_report {
namespace {

constexpr size_t kColours = 7;

std::string key_markup(const Key& key, bool is_field) {
  const std::string mark = is_field ? "<rect class=\"" + key.css_class + "\" width=\"22\" height=\"12\"/>"
                                    : "<path class=\"" + key.css_class + "\" d=\"M1 6h20\"/>";
  return "<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\">" + mark + "</svg>" + key.text + "</li>";
}

}  // namespace

Scene::Scene(std::span<const Run> all) : runs(all) {
  Range range;
  for (const Run& run : runs) {
    for (const Step& step : run.steps) range.add(static_cast<double>(step.step));
    for (const Tensor& tensor : run.tensors) {
      for (const Sample& sample : tensor.samples) range.add(static_cast<double>(sample.step));
    }
  }
  if (range.is_empty) return;
  first_step = range.low;
  last_step = range.high;
}

std::string Scene::run_class(size_t run) {
  std::string name = "c";
  name += std::to_string(run % kColours);
  if (run >= kColours) name += run < 2 * kColours ? " dash" : " dots";
  return name;
}

std::string Scene::name_of(size_t run) const {
  const bool is_unique = std::ranges::count(runs, runs[run].label, &Run::label) == 1;
  return escaped(is_unique ? runs[run].label : runs[run].label + " (" + runs[run].path + ")");
}

std::string words(const std::string& text) { return element("p", {}, text); }

std::string no_chart(std::string_view text) { return element("p", "none", text); }

std::string legend(const std::vector<Key>& keys, bool with_fields) {
  std::string items;
  for (const Key& key : keys) items += key_markup(key, with_fields);
  return items.empty() ? items : element("ul", "legend", items);
}

std::string legend_of_runs(const Scene& scene, const std::function<bool(const Run&)>& has) {
  std::vector<Key> keys;
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    if (has(scene.runs[i])) keys.push_back({"line " + Scene::run_class(i), scene.name_of(i)});
  }
  return scene.has_several() ? legend(keys, false) : "";
}

std::string heading_of(const Scene& scene, size_t run) {
  return scene.has_several() ? element("h4", {}, scene.name_of(run)) : "";
}

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace halftone_report
