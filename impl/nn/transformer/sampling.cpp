#include "nn/transformer/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::nn {

namespace {

double ordered(double logit) { return std::isnan(logit) ? -std::numeric_limits<double>::infinity() : logit; }

int64_t most_likely(std::span<const double> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (ordered(logits[i]) > ordered(logits[best])) best = i;
  }
  return static_cast<int64_t>(best);
}

// Relative to the first, which is the most likely. Where even that is -inf, all count alike; beside +inf, only +inf
// counts.
double weight_of(double logit, double first, double temperature) {
  if (logit == first) return 1.0;
  return std::exp((logit - first) / temperature);
}

// Cuts the list behind the fewest candidates that add up to a share of the sum.
void keep_share(std::vector<Candidate>& list, double share) {
  double total = 0.0;
  for (const Candidate& candidate : list) total += candidate.probability;
  double sum = 0.0;
  size_t kept = 0;
  while (kept < list.size() && (kept == 0 || sum < share * total)) sum += list[kept++].probability;
  list.resize(kept);
  for (Candidate& candidate : list) candidate.probability /= sum;
}

}  // namespace

std::vector<Candidate> candidates(std::span<const double> logits, const SamplingOptions& options) {
  std::vector<Candidate> list;
  list.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) list.push_back({static_cast<int64_t>(i), ordered(logits[i])});
  const size_t count = options.top_k == 0 ? list.size() : std::min(list.size(), static_cast<size_t>(options.top_k));
  std::partial_sort(list.begin(), list.begin() + static_cast<ptrdiff_t>(count), list.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
                    });
  list.resize(count);
  const double first = list[0].probability;
  for (Candidate& candidate : list)
    candidate.probability = weight_of(candidate.probability, first, options.temperature);
  keep_share(list, options.top_p);
  return list;
}

int64_t sampled_token(std::span<const double> logits, const SamplingOptions& options, double uniform) {
  if (options.temperature == 0.0) return most_likely(logits);
  const std::vector<Candidate> list = candidates(logits, options);
  double sum = 0.0;
  for (const Candidate& candidate : list) {
    sum += candidate.probability;
    if (uniform < sum) return candidate.token;
  }
  return list.back().token;  // the probabilities add up to a little less than 1
}

}  // namespace halftone::nn
