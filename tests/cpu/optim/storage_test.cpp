// Every rule in every storage, compared with its formulas in double for a thousand steps, within the rounding errors of
// that storage.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cpu/optim/parameters.h"

namespace halftone {
namespace {

constexpr int64_t kElements = 512;
constexpr int kSteps = 1000;

enum class Weights { kFull, kSplit, kNone };
enum class Rule { kAdamw, kAdam, kSgd, kLion, kRmsprop };

struct Settings {
  Rule rule;
  double lr, beta1, beta2, decay;
};

// Weights stay in (0.25, 1), where a step of BF16 is 2^-8 and one of FP16 2^-11.
double weight_step(const ParameterSpec& spec) {
  if (spec.has_master) return 0;
  return spec.compute_dtype == DType::kBF16 ? 0x1p-8 : 0x1p-11;
}

// The error that storing may add to a first moment, apart from the random part: half a unit of FP32 or BF16, or a
// quarter of code 1, below which a code is 0.
double moment1_rounding(DType dtype, double moment, double scale) {
  if (dtype == DType::kF32) return 0x1p-23 * std::fabs(moment);
  if (dtype == DType::kBF16) return 0x1p-8 * std::fabs(moment);
  return 0.25 * scale * 0x1.8p-21;
}

// The number of codes for each factor of 2: `top` from a quarter of the scale on, 8 from the knee on, `low` below it.
struct Codes {
  int top;
  double knee;
  int low;
};
constexpr Codes kFirstCodes = {16, 0x1p-7, 4}, kSecondCodes = {32, 0x1p-21, 2};

// From one code to the next, at the moment and one code beyond it.
double code_step(double moment, double scale, const Codes& codes) {
  const double part = 1.5 * std::max(std::fabs(moment) / scale, 0x1p-40);
  const int count = part >= 0.5 ? codes.top : part >= 2 * codes.knee ? 8 : codes.low;
  return scale * std::ldexp(1.0 / count, std::ilogb(part));
}

// One element by the formulas in double, with a bound on the error of its storage. Errors of known size are added up.
// Codes and weights without a master are rounded stochastically with mean 0; for them the standard deviation is added
// up. The formulas are linear in the errors of a first moment's codes. So the squares of their ranges add up as
// covariances do, and by Hoeffding's bound the sum of the errors exceeds 3 roots of that sum with a probability below 2
// exp(-18).
struct Element {
  double p, m = 0, v = 0;
  double gap_m = 0;       // error of the first moment, without random errors
  double squares_m = 0;   // squared ranges of the first moment's random errors
  double ranges_m = 0;    // sum of those ranges
  double squares_p = 0;   // of their effect on the weight
  double squares_mp = 0;  // their products
  double variance_v = 0;  // variance of the second moment
  double gap_p = 0;       // error of the weight, without random errors
  double noise = 0;       // deviation of the weight by the second moment, if all errors have one sign
  double gap_g = 0;       // error of the gradient: weight decay that is added to it depends on the weight

  double bound(const ParameterSpec& spec) const {
    // Hoeffding: a sum of n errors within +-u and mean 0 exceeds 3 sqrt(n) u with a probability below 2 exp(-18).
    return gap_p + 6 * noise + 3 * std::sqrt(squares_p) + 3 * std::sqrt(kSteps) * weight_step(spec);
  }

  // Rounding to one of the two codes beside a moment changes it by less than the range.
  double doubt_of_m() const { return gap_m + std::min(3 * std::sqrt(squares_m), ranges_m); }

  // The weight was changed by -size times the moment.
  void move_squares(double size) {
    squares_p += size * size * squares_m - 2 * size * squares_mp;
    squares_mp -= size * squares_m;
  }

  void round_first(const ParameterSpec& spec, double scale) {
    if (spec.moment1_dtype != DType::kI8) return;
    const double step = code_step(std::fabs(m) + doubt_of_m(), scale, kFirstCodes);
    squares_m += step * step;
    ranges_m += step;
  }

  void take_gradient(const Settings& s, const ParameterSpec& spec, double grad, double keep, double add, double scale) {
    const bool in_gradient = s.rule == Rule::kAdam || s.rule == Rule::kSgd || s.rule == Rule::kRmsprop;
    const double g = grad + (in_gradient ? s.decay * p : 0);
    gap_g = in_gradient ? s.decay * bound(spec) : 0;
    m = keep * m + add * g;
    squares_m *= keep * keep;
    squares_mp *= keep;
    ranges_m *= keep;
    gap_m = keep * gap_m + add * gap_g + moment1_rounding(spec.moment1_dtype, m, std::max(scale, std::fabs(m)));
    v = s.beta2 * v + (1 - s.beta2) * g * g;
  }

  void round_second(const Settings& s, const ParameterSpec& spec, double scale) {
    const double apart = code_step(v, scale, kSecondCodes);
    variance_v = s.beta2 * s.beta2 * variance_v + (spec.moment2_dtype == DType::kU8 ? apart * apart / 4 : 0);
  }

  // FP32 adds 1.5e-4 of the step (adamw_test.cpp). A relative deviation d of the second moment adds a deviation
  // of d/2 and a mean error of 3/8 d^2, plus higher orders.
  void adam_step(const Settings& s, int t) {
    const double root = std::sqrt(v / (1 - std::pow(s.beta2, t))) + 1e-8;
    const double size = s.lr / (1 - std::pow(s.beta1, t)) / root;
    const double step = std::fabs(size * m), d = std::sqrt(variance_v) / v;
    gap_p += size * gap_m + step * (1.5e-4 + 0.75 * d * d + gap_g / root) + 0x1p-23 * std::fabs(p);
    noise += step * d / 2;
    move_squares(size);
    p -= size * m + (s.rule == Rule::kAdamw ? s.lr * s.decay * p : 0);
  }

  // Without momentum, whose buffer would add up the errors of the second moment. Bounds as for adam_step, whose moment
  // is here the gradient.
  void rmsprop_step(const Settings& s, const ParameterSpec& spec, double grad) {
    const double g = grad + s.decay * p;
    const double root = std::sqrt(v) + 1e-8;
    const double step = s.lr * std::fabs(g) / root, d = std::sqrt(variance_v) / v;
    gap_p += step * (1.5e-4 + 0.75 * d * d) + s.lr * s.decay * bound(spec) / root + 0x1p-23 * std::fabs(p);
    noise += step * d / 2;
    p -= s.lr * g / root;
  }

  void sgd_step(const Settings& s) {
    gap_p += s.lr * (gap_m + 0x1p-22 * std::fabs(m)) + 0x1p-23 * std::fabs(p);
    move_squares(s.lr);
    p -= s.lr * m;
  }

  // The direction uses the moment of the previous step. Close to 0 its sign may differ.
  void lion_step(const Settings& s, double grad, double old_m, double old_gap) {
    const double direction = s.beta1 * old_m + (1 - s.beta1) * grad;
    const double in_doubt = s.beta1 * old_gap + 0x1p-22 * (std::fabs(old_m) + std::fabs(grad));
    gap_p += (std::fabs(direction) <= in_doubt ? 2 * s.lr : 0) + 0x1p-23 * std::fabs(p);
    p -= s.lr * ((direction > 0 ? 1 : direction < 0 ? -1 : 0) + s.decay * p);
  }
};

class Course {
 public:
  Course(const Settings& settings, const ParameterSpec& spec) : settings_(settings), spec_(spec), list_({spec}) {
    Streams& p = *list_.parameters()[0];
    for (int64_t i = 0; i < kElements; ++i) {
      p.master.set(i, 0.6);
      p.compute.set(i, 0.6);
    }
    if (spec.splits_master) p.split();
    for (int64_t i = 0; i < kElements; ++i) elements_.push_back({weight(i)});
    start_ = elements_[0].p;
  }

  void run() {
    for (int t = 1; t <= kSteps; ++t) {
      Streams& p = *list_.parameters()[0];
      for (int64_t i = 0; i < kElements; ++i) p.grad.set(i, share(i) * (0.3 + std::sin(t * 0.7)));
      step();
      follow(t);
    }
  }

  void judge() {
    double mean_error = 0, mean_bound = 0, mean_way = 0;
    for (int64_t i = 0; i < kElements; ++i) {
      const Element& e = elements_[static_cast<size_t>(i)];
      ASSERT_NEAR(weight(i), e.p, e.bound(spec_)) << i;
      mean_error += (weight(i) - e.p) / kElements;
      mean_bound += (e.gap_p + (e.bound(spec_) - e.gap_p) / std::sqrt(double{kElements})) / kElements;
      mean_way += std::fabs(start_ - e.p) / kElements;
    }
    EXPECT_LE(std::fabs(mean_error), mean_bound);
    // the bound must be smaller than the movement, or weights that never move would pass
    EXPECT_LT(mean_bound, mean_way / 2);
    EXPECT_TRUE(list_.guards_hold());
  }

 private:
  // Gradients of several sizes, so that elements of one block share a scale that is not their own.
  static double share(int64_t i) { return 0.25 + 0.75 * static_cast<double>(i * 37 % kElements) / kElements; }

  double weight(int64_t i) {
    Streams& p = *list_.parameters()[0];
    if (spec_.splits_master) p.join();
    return spec_.has_master ? p.master.get(i) : p.compute.get(i);
  }

  void step() {
    const Settings& s = settings_;
    const AdamwGroup adamw = {s.lr, s.beta1, s.beta2, 1e-8, s.decay};
    const SgdGroup sgd = {s.lr, s.beta1, 0, s.decay, 0, 0};
    const LionGroup lion = {s.lr, s.beta1, s.beta2, s.decay};
    const RmspropGroup rmsprop = {s.lr, s.beta2, 1e-8, s.decay, 0, 0, 0};
    const OptimKernels& kernels = cpu::kOptimKernels;
    ASSERT_TRUE(kernels.begin_step(stream_, {}, {}, &state_).ok());
    switch (s.rule) {
      case Rule::kAdamw:
        ASSERT_TRUE(kernels.adamw(stream_, list_.tensors(), &adamw, &state_).ok());
        break;
      case Rule::kAdam:
        ASSERT_TRUE(kernels.adam(stream_, list_.tensors(), &adamw, &state_).ok());
        break;
      case Rule::kSgd:
        ASSERT_TRUE(kernels.sgd(stream_, list_.tensors(), &sgd, &state_).ok());
        break;
      case Rule::kLion:
        ASSERT_TRUE(kernels.lion(stream_, list_.tensors(), &lion, &state_).ok());
        break;
      case Rule::kRmsprop:
        ASSERT_TRUE(kernels.rmsprop(stream_, list_.tensors(), &rmsprop, &state_).ok());
        break;
    }
  }

  void follow(int t) {
    const Settings& s = settings_;
    double largest_m = 0, largest_v = 0;
    for (const Element& e : elements_) {
      largest_m = std::max(largest_m, std::fabs(e.m) + e.doubt_of_m());
      largest_v = std::max(largest_v, e.v + 6 * std::sqrt(e.variance_v));
    }
    const bool is_sgd = s.rule == Rule::kSgd;
    const double keep = s.rule == Rule::kLion ? s.beta2 : is_sgd && t == 1 ? 0 : s.beta1;
    const double add = is_sgd ? 1 : 1 - keep;
    // The scale of the new moments may be larger than the old one, by at most the contribution of the largest gradient.
    const double top = largest_m + add * 1.31, top_v = largest_v + (1 - s.beta2) * 1.72;
    for (int64_t i = 0; i < kElements; ++i) {
      Element& e = elements_[static_cast<size_t>(i)];
      const double grad = list_.parameters()[0]->grad.get(i), old_m = e.m, old_gap = e.doubt_of_m();
      e.take_gradient(s, spec_, grad, keep, add, top);
      if (s.rule == Rule::kSgd) {
        e.sgd_step(s);
      } else if (s.rule == Rule::kLion) {
        e.lion_step(s, grad, old_m, old_gap);
      } else if (s.rule == Rule::kRmsprop) {
        e.rmsprop_step(s, spec_, grad);
        e.round_second(s, spec_, top_v);
      } else {
        e.adam_step(s, t);
        e.round_second(s, spec_, top_v);
      }
      e.round_first(spec_, top);
    }
  }

  Settings settings_;
  ParameterSpec spec_;
  ParameterList list_;
  ThreadPool pool_{2};
  cpu::CpuStream stream_{pool_};
  OptimizerState state_;
  std::vector<Element> elements_;
  double start_ = 0;
};

ParameterSpec storage(Rule rule, Weights form, DType compute, DType grad, DType moment1, DType moment2) {
  ParameterSpec spec{kElements, grad, compute, true, 0, moment1, form == Weights::kSplit, moment2};
  spec.has_master = form != Weights::kNone;
  spec.has_moment1 = rule != Rule::kRmsprop;
  return spec;
}

void follow_in_every_storage(const Settings& settings, const std::vector<DType>& second_moments) {
  const std::pair<Weights, DType> weights[] = {{Weights::kFull, DType::kBF16},
                                               {Weights::kSplit, DType::kBF16},
                                               {Weights::kNone, DType::kBF16},
                                               {Weights::kNone, DType::kF16}};
  for (const auto& [form, compute] : weights) {
    for (const DType grad : {DType::kF32, compute}) {
      for (const DType moment1 : {DType::kF32, DType::kBF16, DType::kI8}) {
        if (settings.rule == Rule::kRmsprop && moment1 != DType::kF32) continue;  // there is none
        for (const DType moment2 : second_moments) {
          SCOPED_TRACE(std::to_string(static_cast<int>(form)) + " " + name_of(compute) + " " + name_of(grad) + " " +
                       name_of(moment1) + " " + name_of(moment2));
          Course course(settings, storage(settings.rule, form, compute, grad, moment1, moment2));
          course.run();
          course.judge();
        }
      }
    }
  }
}

TEST(OptimStorage, AdamWFollowsItsFormulasInEveryStorage) {
  follow_in_every_storage({Rule::kAdamw, 5e-4, 0.9, 0.99, 0.1}, {DType::kF32, DType::kU8});
}

TEST(OptimStorage, AdamFollowsItsFormulasInEveryStorage) {
  follow_in_every_storage({Rule::kAdam, 5e-4, 0.9, 0.99, 0.01}, {DType::kF32, DType::kU8});
}

TEST(OptimStorage, SgdFollowsItsFormulasInEveryStorage) {
  follow_in_every_storage({Rule::kSgd, 1e-4, 0.9, 0, 0.01}, {DType::kF32});
}

TEST(OptimStorage, RmspropFollowsItsFormulasInEveryStorage) {
  follow_in_every_storage({Rule::kRmsprop, 5e-4, 0, 0.99, 0.01}, {DType::kF32, DType::kU8});
}

// The betas are small: with 0.9 the errors of ten codes add up in a direction, and this bound cannot tell its sign.
TEST(OptimStorage, LionFollowsItsFormulasInEveryStorage) {
  follow_in_every_storage({Rule::kLion, 4e-4, 0.5, 0.5, 0.1}, {DType::kF32});
}

}  // namespace
}  // namespace halftone
