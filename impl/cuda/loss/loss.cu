// Losses that compare two tensors element by element, and their derivatives. The formulas are those of the CPU's
// kernels.
#include <cmath>

#include "cuda/base/kernel_groups.h"
#include "cuda/base/map.h"

namespace halftone::cuda {
namespace {

// -1, 0 or 1; NaN stays NaN.
template <class C>
HALFTONE_DEVICE C sign_of(C x) {
  return x > 0 ? C{1} : x < 0 ? C{-1} : x == 0 ? C{0} : x;
}

// The least logarithm of a probability is -100, so that a loss and a gradient stay finite at 0 and 1; NaN stays NaN.
template <class C>
HALFTONE_DEVICE C bounded_log(C logarithm) {
  return logarithm < C{-100} ? C{-100} : logarithm;
}

template <LossOp op, class C>
struct Loss {
  C beta;
  HALFTONE_DEVICE C operator()(C x, C t) const {
    const C distance = std::fabs(x - t);
    if constexpr (op == LossOp::kSquared) return distance * distance;
    if constexpr (op == LossOp::kAbsolute) return distance;
    if constexpr (op == LossOp::kSmoothAbsolute) {
      return distance < beta ? C{0.5} * distance * (distance / beta) : distance - C{0.5} * beta;
    }
    if constexpr (op == LossOp::kKlDivergence) return (t == 0 ? C{0} : t * std::log(t)) - t * x;
    if constexpr (op == LossOp::kKlDivergenceOfLogs) return std::exp(t) * (t - x);
    if constexpr (op == LossOp::kHuber) {
      return distance < beta ? C{0.5} * distance * distance : beta * (distance - C{0.5} * beta);
    }
    if constexpr (op == LossOp::kBinaryCrossEntropy) {
      return (t - C{1}) * bounded_log(std::log1p(-x)) - t * bounded_log(std::log(x));
    }
  }
};

template <LossOp op, class C>
HALFTONE_DEVICE C input_slope(C beta, C x, C t) {
  const C difference = x - t;
  if constexpr (op == LossOp::kSquared) return difference + difference;
  if constexpr (op == LossOp::kAbsolute) return sign_of(difference);
  if constexpr (op == LossOp::kSmoothAbsolute) {
    return std::fabs(difference) < beta ? difference / beta : sign_of(difference);
  }
  if constexpr (op == LossOp::kKlDivergence) return -t;
  if constexpr (op == LossOp::kKlDivergenceOfLogs) return -std::exp(t);
  if constexpr (op == LossOp::kHuber) return std::fabs(difference) < beta ? difference : beta * sign_of(difference);
  if constexpr (op == LossOp::kBinaryCrossEntropy) {
    const C spread = x * (C{1} - x);
    const C least = static_cast<C>(1e-12);
    return difference / (spread < least ? least : spread);
  }
}

template <LossOp op, class C>
struct LossBackward {
  C beta;
  C scale;
  bool of_target;
  HALFTONE_DEVICE C operator()(C grad, C x, C t) const { return grad * scale * slope(x, t); }

 private:
  // For losses of the difference the derivative with respect to the target is the negative of the other.
  HALFTONE_DEVICE C slope(C x, C t) const {
    if (!of_target) return input_slope<op>(beta, x, t);
    if constexpr (op == LossOp::kKlDivergence) return std::log(t) + C{1} - x;
    if constexpr (op == LossOp::kKlDivergenceOfLogs) return std::exp(t) * (t - x + C{1});
    if constexpr (op == LossOp::kBinaryCrossEntropy) return bounded_log(std::log1p(-x)) - bounded_log(std::log(x));
    return -input_slope<op>(beta, x, t);
  }
};

// Calls f.operator()<op>() for the loss.
template <class F>
Status with_loss(LossOp op, F&& f) {
  switch (op) {
    case LossOp::kSquared:
      return f.template operator()<LossOp::kSquared>();
    case LossOp::kAbsolute:
      return f.template operator()<LossOp::kAbsolute>();
    case LossOp::kSmoothAbsolute:
      return f.template operator()<LossOp::kSmoothAbsolute>();
    case LossOp::kKlDivergence:
      return f.template operator()<LossOp::kKlDivergence>();
    case LossOp::kKlDivergenceOfLogs:
      return f.template operator()<LossOp::kKlDivergenceOfLogs>();
    case LossOp::kHuber:
      return f.template operator()<LossOp::kHuber>();
    case LossOp::kBinaryCrossEntropy:
      return f.template operator()<LossOp::kBinaryCrossEntropy>();
  }
  return Status::failure(Code::kUnsupported, "there is no such loss");
}

Status loss(Stream& stream, LossOp op, double beta, const View& input, const View& target, const View& out) noexcept {
  return with_loss(op, [&]<LossOp wanted>() {
    return with_float_type(out.dtype, [&]<class C>() {
      return map<C>(stream, Loss<wanted, C>{static_cast<C>(beta)}, out, input, target);
    });
  });
}

Status loss_backward(Stream& stream, LossOp op, double beta, LossOperand operand, const View& grad, double scale,
                     const View& input, const View& target, const View& out) noexcept {
  return with_loss(op, [&]<LossOp wanted>() {
    return with_float_type(out.dtype, [&]<class C>() {
      const LossBackward<wanted, C> backward = {static_cast<C>(beta), static_cast<C>(scale),
                                                operand == LossOperand::kTarget};
      return map<C>(stream, backward, out, grad, input, target);
    });
  });
}

// log(1 + e^-|x|), the part that log(1 + e^-x) and log(1 + e^x) have in common; neither overflows.
template <class C>
HALFTONE_DEVICE C tail_of(C x) {
  return std::log1p(std::exp(-std::fabs(x)));
}

// For a target of 0 or 1 nothing is subtracted, so no digits cancel. An infinite one gives the limit.
template <class C>
struct Logistic {
  HALFTONE_DEVICE C operator()(C x, C t, C p) const {
    const C tail = tail_of(x);
    const C of_positive = (x < 0 ? -x : C{0}) + tail;
    const C of_negative = (x > 0 ? x : C{0}) + tail;
    if (std::isinf(t)) return t * ((p - C{1}) * of_positive - x);
    return p * t * of_positive + (C{1} - t) * of_negative;
  }
};

template <class C>
struct LogisticBackward {
  C scale;
  bool of_target;
  HALFTONE_DEVICE C operator()(C grad, C x, C t, C p) const {
    return grad * scale * (of_target ? target_slope(x, p) : logit_slope(x, t, p));
  }

 private:
  // p log(1 + e^-x) - log(1 + e^x): nothing cancels for p = 1, which gives -x.
  HALFTONE_DEVICE static C target_slope(C x, C p) { return (p - C{1}) * tail_of(x) - (x < 0 ? p : C{1}) * x; }
  // (1 - t) sigmoid(x) - p t sigmoid(-x), both from e^-|x|, so that they keep their digits at both ends.
  HALFTONE_DEVICE static C logit_slope(C x, C t, C p) {
    const C e = std::exp(-std::fabs(x));
    const C larger = C{1} / (C{1} + e);
    const C smaller = e * larger;
    return (C{1} - t) * (x < 0 ? smaller : larger) - p * t * (x < 0 ? larger : smaller);
  }
};

Status logistic(Stream& stream, const View& logits, const View& targets, const View& positive_weight,
                const View& out) noexcept {
  return with_float_type(
      out.dtype, [&]<class C>() { return map<C>(stream, Logistic<C>(), out, logits, targets, positive_weight); });
}

Status logistic_backward(Stream& stream, LossOperand operand, const View& grad, double scale, const View& logits,
                         const View& targets, const View& positive_weight, const View& out) noexcept {
  return with_float_type(out.dtype, [&]<class C>() {
    const LogisticBackward<C> backward = {static_cast<C>(scale), operand == LossOperand::kTarget};
    return map<C>(stream, backward, out, grad, logits, targets, positive_weight);
  });
}

}  // namespace

const LossKernels kLossKernels = {
    .loss = loss,
    .loss_backward = loss_backward,
    .logistic = logistic,
    .logistic_backward = logistic_backward,
};

}  // namespace halftone::cuda
