// Counts and powers of what rounding to one format does to elements. They add up over parts of a tensor, and over
// tensors.
#pragma once

#include <halftone/analysis.h>

namespace halftone_analyze {

class FormatTally {
 public:
  // Errors of one part.
  void add(const htone_rounding_errors& errors);
  void add(const FormatTally& other);

  // Shares of the elements that are finite and not 0; 0 without such elements.
  double underflow_share() const { return share(underflows_); }
  double subnormal_share() const { return share(subnormals_); }
  double overflow_share() const { return share(overflows_); }
  // An infinity without errors. `signal` is the sum of the squares of the finite elements.
  double snr_db(long double signal) const;
  double loss_scale() const { return loss_scale_; }

 private:
  double share(int64_t count) const;

  int64_t elements_ = 0;  // that are finite and not 0
  int64_t underflows_ = 0;
  int64_t subnormals_ = 0;
  int64_t overflows_ = 0;
  long double noise_ = 0;  // the sum of the squares of the errors; the square of a double may be beyond the doubles
  double loss_scale_ = 1;  // of the largest element so far
};

}  // namespace halftone_analyze
