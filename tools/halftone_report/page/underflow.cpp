// The panel of underflow: which share of the gradients FP16 loses with and without the loss scale, and the scale that
// their magnitudes ask for.
#include <algorithm>
#include <cmath>

#include "page/tensors.h"

namespace halftone_report {
namespace {

constexpr int kFirstExponentOfFp16 = -25;  // smaller numbers become 0
constexpr double kLargestOfFp16 = 65504;

double lost_share(const Tally& tally) {
  return tally.total() > 0 ? tally.below(kFirstExponentOfFp16) / tally.total() : 0.0;
}

// The rule of htone_rounding_errors.loss_scale.
double recommended_scale(double largest) {
  return largest > 0 ? std::exp2(std::clamp(std::floor(std::log2(kLargestOfFp16 / largest)), -126.0, 127.0)) : 1.0;
}

template <class Number>
std::vector<Point> points_of(const std::vector<Gradients>& samples, Number number) {
  std::vector<Point> points;
  for (const Gradients& sample : samples) points.push_back({double(sample.step), number(sample)});
  return points;
}

std::string newest_words(const Scene& scene, size_t run, const Gradients& newest) {
  const std::string name = scene.has_several() ? scene.name_of(run) + ": in" : "In";
  return words(name + " step " + count_text(double(newest.step)) + ", FP16 loses " +
               share_text(lost_share(newest.stored)) + " of the gradients at the scale " + power_text(newest.scale) +
               ", and would lose " + share_text(lost_share(newest.unscaled)) + " without one. The scale could be " +
               power_text(recommended_scale(newest.largest)) + ".");
}

}  // namespace

Panel underflow_panel(const Scene& scene) {
  Panel panel{"underflow", "Underflow and recommended scale", {}};
  std::vector<SampledLine> shares, scales;
  std::string text;
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    const std::vector<Gradients> samples = gradients_of(scene.runs[i]);
    if (samples.empty()) continue;
    const std::string colour = Scene::run_class(i);
    shares.push_back({points_of(samples, [](const auto& one) { return lost_share(one.stored); }), "line " + colour});
    shares.push_back(
        {points_of(samples, [](const auto& one) { return lost_share(one.unscaled); }), "line dots " + colour});
    scales.push_back(
        {points_of(samples, [](const auto& one) { return recommended_scale(one.largest); }), "line dots " + colour});
    scales.push_back({points_of(samples, [](const auto& one) { return one.scale; }), "line " + colour});
    text += newest_words(scene, i, samples.back());
  }
  if (shares.empty()) {
    panel.body = no_tensors("gradients");
    return panel;
  }
  const std::string chart = sampled_chart(scene, shares,
                                          {"share of gradients that FP16 rounds to 0", Unit::kShare, 10,
                                           "Share of gradients that FP16 rounds to 0, over steps"});
  const std::string keys = legend({{"line c0", "at the scale in use"}, {"line dots c0", "without a scale"}}, false);
  panel.body =
      chart.empty() ? no_chart("FP16 loses no gradient of the samples, with and without a scale.") : chart + keys;
  panel.body +=
      sampled_chart(scene, scales, {"loss scale", Unit::kPower, 2, "Loss scale in use and recommended, over steps"}) +
      legend({{"line c0", "in use"}, {"line dots c0", "recommended: the largest without overflow"}}, false) +
      legend_of_runs(scene, [](const Run& run) { return !tensors_of(run, TensorKind::kGradient).empty(); }) + text +
      words("Shares are of the elements other than 0. A share of 0 is drawn at the lower end.");
  return panel;
}

}  // namespace halftone_report
