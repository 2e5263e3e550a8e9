// Normal numbers in an interval, by the quantiles of uniform numbers: no draw is thrown away, so element i needs only
// its own random words.
#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/init.h"
#include "nn/normal_quantile.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

// The share of standard normal numbers below x; a small share keeps its accuracy.
double share_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Word pair i of a sequence as a uniform number in [0, 1) on the 2^-53 grid.
double uniform_of_53_bits(PhiloxKey key, uint64_t i) {
  const PhiloxBlock block = philox(key, i / 2);
  const uint64_t low = block[i % 2 * 2], high = block[i % 2 * 2 + 1];
  return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
}

// The standard normal numbers in [low, high]. An interval above 0 is drawn as its mirror image, because shares next to
// 1 have few digits.
class StandardInterval {
 public:
  StandardInterval(double low, double high) : is_mirrored_(low > 0.0) {
    begin_ = share_below(is_mirrored_ ? -high : low);
    end_ = share_below(is_mirrored_ ? -low : high);
  }
  double number(double uniform) const {
    const double quantile = normal_quantile(begin_ + (end_ - begin_) * uniform);
    return is_mirrored_ ? -quantile : quantile;
  }

 private:
  bool is_mirrored_;
  double begin_, end_;  // shares
};

}  // namespace

void init_truncated_normal(const Tensor& tensor, const TruncatedNormal& distribution) {
  const auto& [mean, std, low, high] = distribution;
  const PhiloxKey key = tensor.device().context->next_key();
  if (std == 0.0) return fill(tensor, std::clamp(mean, low, high));
  const StandardInterval interval((low - mean) / std, (high - mean) / std);
  std::vector<double> values(static_cast<size_t>(tensor.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::clamp(mean + std * interval.number(uniform_of_53_bits(key, i)), low, high);
  }
  write_from_host(tensor, DType::kF64, values.data());
}

}  // namespace halftone::nn
