// Averages over codes of E5M2 by plain loops, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace halftone::parallel {

using Values = std::vector<float>;

inline float nearest_e5m2(double value) {
  if (value == 0) return 0;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), -14) - 2);
  return static_cast<float>(std::nearbyint(value / step) * step);
}

// The numbers that the codes of `values` stand for.
inline Values coded(const Values& values) {
  Values numbers;
  double most = 0, scale = 0x1p-126;
  for (const float value : values) {
    if (!std::isfinite(value)) return Values(values.size(), std::numeric_limits<float>::quiet_NaN());
    most = std::max(most, std::abs(static_cast<double>(value)));
  }
  while (most / scale > 57344) scale *= 2;
  for (const float value : values) numbers.push_back(static_cast<float>(nearest_e5m2(value / scale) * scale));
  return numbers;
}

// The averages of all ranks in one place, with what each of them has lost.
class CodedReference {
 public:
  CodedReference(int ranks, bool has_error_feedback)
      : has_error_feedback_(has_error_feedback),
        lost_of_gradients_(static_cast<size_t>(ranks)),
        lost_of_sums_(static_cast<size_t>(ranks)) {}

  // The sums in FP32 of every part, one after another. gradients[rank] have one size.
  Values sums(const std::vector<Values>& gradients) {
    const size_t ranks = gradients.size();
    const auto share = static_cast<float>(1.0 / static_cast<double>(ranks));
    Values all;
    for (size_t rank = 0; rank < ranks; ++rank) {
      Values divided = gradients[rank];
      divided.resize((divided.size() + ranks - 1) / ranks * ranks);
      for (float& value : divided) value *= share;
      const Values sent = send(divided, lost_of_gradients_[rank]);
      if (rank == 0) all = sent;
      for (size_t i = 0; rank > 0 && i < sent.size(); ++i) all[i] += sent[i];
    }
    return all;
  }

  Values average(const std::vector<Values>& gradients) {
    const size_t ranks = gradients.size();
    const Values all = sums(gradients);
    const size_t part = all.size() / ranks;
    Values result;
    for (size_t rank = 0; rank < ranks; ++rank) {
      const auto begin = all.begin() + static_cast<int64_t>(rank * part);
      const Values sent = send(Values(begin, begin + static_cast<int64_t>(part)), lost_of_sums_[rank]);
      result.insert(result.end(), sent.begin(), sent.end());
    }
    result.resize(gradients[0].size());
    return result;
  }

 private:
  Values send(Values values, Values& lost) const {
    lost.resize(values.size());
    for (size_t i = 0; has_error_feedback_ && i < values.size(); ++i) values[i] += lost[i];
    const Values sent = coded(values);
    for (size_t i = 0; i < values.size(); ++i) lost[i] = std::isfinite(sent[i]) ? values[i] - sent[i] : 0.0f;
    return sent;
  }

  const bool has_error_feedback_;
  std::vector<Values> lost_of_gradients_, lost_of_sums_;
};

}  // namespace halftone::parallel
