// The statistics of one tensor of a model in one step. A monitor makes them; the record of a run keeps and writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/formula/tensor_summary.h"
#include "backend/formula/update_summary.h"

namespace halftone::analysis {

enum class TensorKind { kParameter, kGradient, kActivation };

// An update of a parameter's weights.
struct UpdateRecord {
  UpdateSummary counts;
  double norm = 0.0;  // Euclidean, of the difference
};

struct TensorRecord {
  TensorKind kind = TensorKind::kParameter;
  std::string name;  // of the parameter, or the path of the module whose result it is
  std::string op;    // of an activation: the operation that computed it
  DType dtype = DType::kF32;
  int64_t place = 0;  // in its sample
  int64_t elements = 0;
  TensorSummary summary;
  double norm = 0.0;                   // Euclidean; NaN if an element is not finite
  double scale = 1.0;                  // of a gradient: the factor that the stored numbers carry
  std::optional<UpdateRecord> update;  // of a parameter
  std::optional<double> noise;         // of a gradient: its variance over batches, divided by the square of its mean
};

// The tensors of one step.
struct TensorSample {
  int64_t step = 0;
  std::vector<TensorRecord> tensors;
};

}  // namespace halftone::analysis
