// Connectionist temporal classification: one block for each sequence, whose threads share the states of a time.
#include "backend/formula/ctc.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/base/launch.h"
#include "cuda/base/map.h"

namespace halftone::cuda {
namespace {

template <class C>
HALFTONE_DEVICE CtcSequence<C> sequence_at(const CtcArgs& args, int64_t n) {
  const Shape& shape = args.log_probabilities.shape;
  const auto length = [&](const View& lengths, int64_t most) {
    const int64_t given = static_cast<const int64_t*>(lengths.data)[n];
    return given < 0 ? int64_t{0} : given > most ? most : given;
  };
  return {static_cast<const C*>(args.log_probabilities.data) + n * shape[2],
          shape[1] * shape[2],
          static_cast<const int64_t*>(args.targets.data) + n * args.targets.shape[1],
          length(args.input_lengths, shape[0]),
          length(args.target_lengths, args.targets.shape[1]),
          args.blank};
}

HALFTONE_DEVICE double* sums_at(const CtcArgs& args, int64_t n, int64_t time) {
  const Shape& shape = args.forward.shape;
  return static_cast<double*>(args.forward.data) + (n * shape[1] + time) * shape[2];
}

// Block: sequence blockIdx.x, and those a grid further.
template <class C>
HALFTONE_KERNEL sum_kernel(CtcArgs args, int64_t count) {
  for (int64_t n = blockIdx.x; n < count; n += gridDim.x) {
    const CtcSequence<C> sequence = sequence_at<C>(args, n);
    const double* before = nullptr;
    for (int64_t time = 0; time < sequence.times; ++time) {
      double* const sums = sums_at(args, n, time);
      for (int64_t s = threadIdx.x; s < sequence.states(); s += blockDim.x) {
        sums[s] = ctc_forward(sequence, time, s, before);
      }
      __syncthreads();
      before = sums;
    }
    if (threadIdx.x == 0) static_cast<double*>(args.losses.data)[n] = ctc_loss_of(sequence, before);
  }
}

// Block: as sum_kernel.
template <class C>
HALFTONE_KERNEL slope_kernel(CtcArgs args, View grad, bool zero_infinity, View backward, View grad_input,
                             int64_t count) {
  for (int64_t n = blockIdx.x; n < count; n += gridDim.x) {
    const CtcSequence<C> sequence = sequence_at<C>(args, n);
    const double loss = static_cast<const double*>(args.losses.data)[n];
    const double scale = -static_cast<const double*>(grad.data)[n];
    const bool is_left_out = zero_infinity && std::isinf(loss);
    double* now = static_cast<double*>(backward.data) + n * 2 * backward.shape[2];
    double* after = now + backward.shape[2];
    C* const out = static_cast<C*>(grad_input.data) + n * args.log_probabilities.shape[2];
    for (int64_t time = sequence.times - 1; time >= 0 && !is_left_out; --time) {
      const double* const known = time == sequence.times - 1 ? nullptr : after;
      for (int64_t s = threadIdx.x; s < sequence.states(); s += blockDim.x) {
        now[s] = ctc_backward(sequence, time, s, known);
      }
      __syncthreads();
      const double* const sums = sums_at(args, n, time);
      for (int64_t s = threadIdx.x; s < sequence.states(); s += blockDim.x) {
        if (!is_first_of_label(sequence, s)) continue;
        const double share = ctc_share_of_label(sequence, s, sums, now, loss);
        out[time * sequence.step + sequence.label(s)] = static_cast<C>(scale * share);
      }
      __syncthreads();  // the sums of the time after are overwritten next
      double* const spare = after;
      after = now;
      now = spare;
    }
  }
}

Status ctc(Stream& stream, const CtcArgs& args) noexcept {
  const int64_t count = args.losses.shape[0];
  return with_float_type(args.log_probabilities.dtype, [&]<class C>() {
    return launch(stream, grid_for_rows(count, kThreads), sum_kernel<C>, args, count);
  });
}

Status ctc_backward(Stream& stream, const CtcArgs& args, const View& grad, bool zero_infinity, const View& backward,
                    const View& grad_input) noexcept {
  const int64_t count = args.losses.shape[0];
  return with_float_type(args.log_probabilities.dtype, [&]<class C>() {
    return launch(stream, grid_for_rows(count, kThreads), slope_kernel<C>, args, grad, zero_infinity, backward,
                  grad_input, count);
  });
}

}  // namespace

const SequenceKernels kSequenceKernels = {HALFTONE_SEQUENCE_ENTRIES(HALFTONE_ENTRY_ROW)};

}  // namespace halftone::cuda
