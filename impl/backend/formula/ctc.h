// Connectionist temporal classification of one sequence: the sums over all alignments of a target, in logarithms and in
// double. A target of s labels has 2 s + 1 states: its labels are the odd ones, and blanks lie around them. From one
// time to the next an alignment stays, goes to the next state, or skips a blank between two different labels. Pure
// functions, safe from any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.h"

namespace halftone {

// log(e^a + e^b + e^c). NaN if any of them is; -infinity if all are.
HALFTONE_HOST_DEVICE inline double log_of_sum(double a, double b, double c) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  if (a != a || b != b || c != c) return a + b + c;
  double largest = a > b ? a : b;
  if (c > largest) largest = c;
  if (largest == kNothing) return kNothing;
  return largest + std::log(std::exp(a - largest) + std::exp(b - largest) + std::exp(c - largest));
}

template <class C>
struct CtcSequence {
  const C* logs;          // of time 0
  int64_t step;           // from one time to the next
  const int64_t* labels;  // of the target
  int64_t times;
  int64_t length;  // of the target
  int64_t blank;

  HALFTONE_HOST_DEVICE int64_t states() const { return 2 * length + 1; }
  HALFTONE_HOST_DEVICE int64_t label(int64_t state) const { return state % 2 == 0 ? blank : labels[state / 2]; }
  HALFTONE_HOST_DEVICE double log_at(int64_t time, int64_t state) const {
    return static_cast<double>(logs[time * step + label(state)]);
  }
  // True if an alignment may go from state - 2 to this state.
  HALFTONE_HOST_DEVICE bool skips_to(int64_t state) const {
    return state % 2 == 1 && state >= 2 && label(state) != label(state - 2);
  }
};

// The logarithm of the sum over the beginnings of alignments that are in `state` at `time`; `before` are those of the
// time before, null at time 0.
template <class C>
HALFTONE_HOST_DEVICE double ctc_forward(const CtcSequence<C>& sequence, int64_t time, int64_t state,
                                        const double* before) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  if (before == nullptr) return state < 2 ? sequence.log_at(time, state) : kNothing;
  const double next = state >= 1 ? before[state - 1] : kNothing;
  const double skipped = sequence.skips_to(state) ? before[state - 2] : kNothing;
  return log_of_sum(before[state], next, skipped) + sequence.log_at(time, state);
}

// Likewise over the ends of alignments, without the state's own probability; `after` are those of the time after, null
// at the last time.
template <class C>
HALFTONE_HOST_DEVICE double ctc_backward(const CtcSequence<C>& sequence, int64_t time, int64_t state,
                                         const double* after) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const int64_t states = sequence.states();
  if (after == nullptr) return state >= states - 2 ? 0 : kNothing;
  const auto through = [&](int64_t to) { return after[to] + sequence.log_at(time + 1, to); };
  const double next = state + 1 < states ? through(state + 1) : kNothing;
  const double skipped = state + 2 < states && sequence.skips_to(state + 2) ? through(state + 2) : kNothing;
  return log_of_sum(through(state), next, skipped);
}

// The loss, from the sums of the last time; null if there is no time.
template <class C>
HALFTONE_HOST_DEVICE double ctc_loss_of(const CtcSequence<C>& sequence, const double* last) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const int64_t states = sequence.states();
  if (last == nullptr) return sequence.length == 0 ? 0 : -kNothing;
  return -log_of_sum(last[states - 1], states > 1 ? last[states - 2] : kNothing, kNothing);
}

// The share of the alignments that is in `state` at a time, as a probability.
HALFTONE_HOST_DEVICE inline double ctc_share(double forward, double backward, double loss) {
  return std::exp(forward + backward + loss);
}

// True if no state before has the same label, so that this one adds up the shares of all.
template <class C>
HALFTONE_HOST_DEVICE bool is_first_of_label(const CtcSequence<C>& sequence, int64_t state) {
  if (state == 0) return true;
  const int64_t label = sequence.label(state);
  if (label == sequence.blank) return false;
  for (int64_t other = 1; other < state; other += 2) {
    if (sequence.label(other) == label) return false;
  }
  return true;
}

// The shares of all states with the label of `state`, which is the first of them, in their order.
template <class C>
HALFTONE_HOST_DEVICE double ctc_share_of_label(const CtcSequence<C>& sequence, int64_t state, const double* forward,
                                               const double* backward, double loss) {
  double sum = 0;
  for (int64_t other = state; other < sequence.states(); ++other) {
    if (sequence.label(other) == sequence.label(state)) sum += ctc_share(forward[other], backward[other], loss);
  }
  return sum;
}

}  // namespace halftone
