#include "normalized.h"

#include <cmath>

namespace halftone {

namespace {

// The mean of function(x, group) for each group.
template <class Function>
std::vector<double> means_of(const Array& x, const Grouping& grouping, std::vector<double>* counts,
                             Function&& function) {
  std::vector<Sum> sums(static_cast<size_t>(grouping.groups));
  std::vector<double> count(sums.size());
  int64_t i = 0;
  for_each_index(x.shape, [&](const Shape& index) {
    const auto group = static_cast<size_t>(grouping.group(index));
    sums[group].add(function(x[i++], group));
    count[group] += 1;
  });
  std::vector<double> means;
  for (size_t g = 0; g < sums.size(); ++g) means.push_back(sums[g].value() / count[g]);
  if (counts != nullptr) *counts = count;
  return means;
}

}  // namespace

Statistics statistics_of(const Array& x, const Grouping& grouping) {
  Statistics result;
  result.mean = means_of(x, grouping, &result.count, [](double value, size_t) { return value; });
  result.variance = means_of(x, grouping, nullptr, [&](double value, size_t group) {
    return (value - result.mean[group]) * (value - result.mean[group]);
  });
  return result;
}

Statistics mean_squares_of(const Array& x, const Grouping& grouping) {
  Statistics result;
  result.variance = means_of(x, grouping, &result.count, [](double value, size_t) { return value * value; });
  result.mean.resize(result.variance.size());
  return result;
}

Array normalized(const Array& x, const Grouping& grouping, const Statistics& statistics, const Array* weight,
                 const Array* bias) {
  Array out(x.shape);
  int64_t i = 0;
  for_each_index(x.shape, [&](const Shape& index) {
    const auto group = static_cast<size_t>(grouping.group(index));
    const int64_t channel = grouping.channel(index);
    const double factor =
        (weight != nullptr ? (*weight)[channel] : 1) / std::sqrt(statistics.variance[group] + kNormEpsilon);
    const double shift = bias != nullptr ? (*bias)[channel] : 0;
    out[i] = (x[i] - statistics.mean[group]) * factor + shift;
    // The error of the mean is proportional to the size of its terms; it and x are both multiplied by the factor.
    const double size_of_terms = std::fabs(statistics.mean[group]) + std::sqrt(statistics.variance[group]);
    const double sizes = (std::fabs(x[i]) + size_of_terms) * std::fabs(factor) + std::fabs(shift);
    out.slack.push_back(kFunctionError * sizes);
    ++i;
  });
  return out;
}

}  // namespace halftone
