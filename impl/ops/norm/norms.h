// The normalisation operations; capi/include/halftone/norm.h documents them.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace halftone::ops {

// Weights and biases may be undefined.
Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double epsilon);
Tensor rms_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight, double epsilon);

// The sum of input and residual, in the wider of their dtypes, and its norm. Shapes must be equal.
struct SumAndNorm {
  Tensor sum;
  Tensor norm;
};
SumAndNorm add_layer_norm(const Tensor& input, const Tensor& residual, const Shape& normalized_shape,
                          const Tensor& weight, const Tensor& bias, double epsilon);
SumAndNorm add_rms_norm(const Tensor& input, const Tensor& residual, const Shape& normalized_shape,
                        const Tensor& weight, double epsilon);

// As the two above, for a reader that casts the norm to `result`: the norm has that dtype, and the bits of the cast.
// Without a value, as above.
SumAndNorm add_layer_norm_as(std::optional<DType> result, const Tensor& input, const Tensor& residual,
                             const Shape& normalized_shape, const Tensor& weight, const Tensor& bias, double epsilon);
SumAndNorm add_rms_norm_as(std::optional<DType> result, const Tensor& input, const Tensor& residual,
                           const Shape& normalized_shape, const Tensor& weight, double epsilon);

Tensor group_norm(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias, double epsilon);
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, double epsilon);

struct BatchNormSettings {
  bool training = false;  // normalise with the batch's own statistics
  double momentum = 0.1;  // weight of the batch in the new running statistics
  double epsilon = 1e-5;
  bool is_cumulative = false;  // the running statistics are means over all batches, whatever the momentum
};
// Mean and variance are [channels], f32 or f64; both are defined or neither.
struct RunningStatistics {
  Tensor mean;
  Tensor variance;
  Tensor batches = {};  // i64 scalar, the number of batches so far; may be undefined if the mean is not cumulative
};
// Moves `running` towards the statistics of a batch, f64 [2, channels] means and variances over `count` elements a
// channel, as batch_norm does in training. Does nothing in a recompute region.
void move_running(const RunningStatistics& running, const BatchNormSettings& settings, const Tensor& statistics,
                  int64_t count);
// In training, `running` (if defined) is updated with the batch's statistics: when the C call under way has succeeded
// (core/call_log.h), outside of a call at once.
Tensor batch_norm(const Tensor& input, const RunningStatistics& running, const Tensor& weight, const Tensor& bias,
                  const BatchNormSettings& settings);

}  // namespace halftone::ops
