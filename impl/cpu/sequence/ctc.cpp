// Connectionist temporal classification: one sequence after the other on a thread.
#include "backend/formula/ctc.h"

#include <algorithm>
#include <utility>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "cpu/sequence/entries.h"

namespace halftone::cpu {

namespace {

template <class C>
CtcSequence<C> sequence_at(const CtcArgs& args, int64_t n) {
  const Shape& shape = args.log_probabilities.shape;
  const auto length = [&](const View& lengths, int64_t most) {
    return std::clamp<int64_t>(static_cast<const int64_t*>(lengths.data)[n], 0, most);
  };
  return {.logs = static_cast<const C*>(args.log_probabilities.data) + n * shape[2],
          .step = shape[1] * shape[2],
          .labels = static_cast<const int64_t*>(args.targets.data) + n * args.targets.shape[1],
          .times = length(args.input_lengths, shape[0]),
          .length = length(args.target_lengths, args.targets.shape[1]),
          .blank = args.blank};
}

// The sums of one time, of which each has a place for all states of the longest target.
double* sums_at(const CtcArgs& args, int64_t n, int64_t time) {
  const Shape& shape = args.forward.shape;
  return static_cast<double*>(args.forward.data) + (n * shape[1] + time) * shape[2];
}

template <class C>
void sum_sequence(const CtcArgs& args, int64_t n) {
  const CtcSequence<C> sequence = sequence_at<C>(args, n);
  const double* before = nullptr;
  for (int64_t time = 0; time < sequence.times; ++time) {
    double* const sums = sums_at(args, n, time);
    for (int64_t s = 0; s < sequence.states(); ++s) sums[s] = ctc_forward(sequence, time, s, before);
    before = sums;
  }
  static_cast<double*>(args.losses.data)[n] = ctc_loss_of(sequence, before);
}

template <class C>
void add_slopes(const CtcArgs& args, int64_t n, double grad, const View& backward, const View& grad_input) {
  const CtcSequence<C> sequence = sequence_at<C>(args, n);
  const double loss = static_cast<const double*>(args.losses.data)[n];
  double* now = static_cast<double*>(backward.data) + n * 2 * backward.shape[2];
  double* after = now + backward.shape[2];
  C* const out =
      static_cast<C*>(grad_input.data) + (sequence.logs - static_cast<const C*>(args.log_probabilities.data));
  for (int64_t time = sequence.times - 1; time >= 0; --time) {
    const double* const known = time == sequence.times - 1 ? nullptr : after;
    for (int64_t s = 0; s < sequence.states(); ++s) now[s] = ctc_backward(sequence, time, s, known);
    const double* const sums = sums_at(args, n, time);
    for (int64_t s = 0; s < sequence.states(); ++s) {
      if (!is_first_of_label(sequence, s)) continue;
      const double share = ctc_share_of_label(sequence, s, sums, now, loss);
      out[time * sequence.step + sequence.label(s)] = static_cast<C>(-grad * share);
    }
    std::swap(now, after);
  }
}

// Calls f.operator()<C>(n) for every sequence.
template <class F>
void for_each_sequence(Stream& stream, const CtcArgs& args, F&& f) {
  const int64_t count = args.losses.shape[0];
  pool_of(stream).parallel_for(count, [&](int64_t n, int) {
    if (args.log_probabilities.dtype == DType::kF64) return f.template operator()<double>(n);
    f.template operator()<float>(n);
  });
}

}  // namespace

Status ctc(Stream& stream, const CtcArgs& args) noexcept {
  for_each_sequence(stream, args, [&]<class C>(int64_t n) { sum_sequence<C>(args, n); });
  return {};
}

Status ctc_backward(Stream& stream, const CtcArgs& args, const View& grad, bool zero_infinity, const View& backward,
                    const View& grad_input) noexcept {
  for_each_sequence(stream, args, [&]<class C>(int64_t n) {
    if (zero_infinity && std::isinf(static_cast<const double*>(args.losses.data)[n])) return;
    add_slopes<C>(args, n, static_cast<const double*>(grad.data)[n], backward, grad_input);
  });
  return {};
}

const SequenceKernels kSequenceKernels = {HALFTONE_SEQUENCE_ENTRIES(HALFTONE_ENTRY_ROW)};

}  // namespace halftone::cpu
