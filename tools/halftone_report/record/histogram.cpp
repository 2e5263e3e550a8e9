#include "record/histogram.h"

#include <algorithm>

namespace halftone_report {

void Tally::add(const Histogram& histogram, int shift) {
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    const int bin = std::clamp(histogram.first + static_cast<int>(i) + shift, 0, kBins - 1);
    counts_[static_cast<size_t>(bin)] += histogram.counts[i];
    total_ += histogram.counts[i];
  }
}

double Tally::below(int exponent) const {
  double count = 0;
  for (int bin = 0; bin < std::clamp(exponent - kExponentOfBin0, 0, kBins); ++bin) count += this->count(bin);
  return count;
}

double Tally::quantile(double share) const {
  double left = share * total_;
  int last = 0;  // bin that is not empty
  for (int bin = 0; bin < kBins; ++bin) {
    if (count(bin) == 0) continue;
    last = bin;
    if (count(bin) >= left) return kExponentOfBin0 + bin + left / count(bin);
    left -= count(bin);
  }
  return kExponentOfBin0 + last + 1;
}

}  // namespace halftone_report
