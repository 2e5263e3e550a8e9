#include "autograd/anomaly.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

struct Found {
  bool is_nan;
  std::string place;  // "[2, 0]"
};

std::string place_of(int64_t index, const Shape& shape) {
  std::vector<int64_t> place(static_cast<size_t>(shape.rank()));
  for (int dim = shape.rank() - 1; dim >= 0; --dim) {
    place[static_cast<size_t>(dim)] = index % shape[dim];
    index /= shape[dim];
  }
  std::string text = "[";
  for (size_t i = 0; i < place.size(); ++i) text.append(i == 0 ? "" : ", ").append(std::to_string(place[i]));
  return text.append("]");
}

template <class T>
std::optional<Found> find(const Tensor& tensor, DType dtype) {
  std::vector<T> values(static_cast<size_t>(tensor.numel()));
  read_to_host(tensor, dtype, values.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_nan = std::isnan(values[i]);
    const bool is_sought = is_nan || (scope().anomaly == Anomaly::kNotFinite && std::isinf(values[i]));
    if (is_sought) return Found{is_nan, place_of(static_cast<int64_t>(i), tensor.shape())};
  }
  return std::nullopt;
}

// The first element of the kind that the mode looks for. A constant input may be undefined.
std::optional<Found> find(const Tensor& tensor) {
  if (!tensor.defined() || !is_float(tensor.dtype()) || tensor.numel() == 0) return std::nullopt;
  if (tensor.dtype() == DType::kF64) return find<double>(tensor, DType::kF64);
  return find<float>(tensor, DType::kF32);
}

const char* name_of(const Found& found) { return found.is_nan ? "NaN" : "an infinity"; }

}  // namespace

void check_result(const char* op, const Tensor& result, std::span<const Tensor* const> inputs) {
  const std::optional<Found> made = find(result);
  if (!made) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const std::optional<Found> given = find(*inputs[i])) {
      fail(Code::kNotFinite, "", "the result %s of %s holds %s at %s; its input %zu %s held %s at %s before",
           ShapeText(result.shape()).text, op, name_of(*made), made->place.c_str(), i,
           ShapeText(inputs[i]->shape()).text, name_of(*given), given->place.c_str());
    }
  }
  fail(Code::kNotFinite, "", "%s made %s at %s of its result %s; its inputs are finite", op, name_of(*made),
       made->place.c_str(), ShapeText(result.shape()).text);
}

void check_gradients(const Node& node, std::span<const Tensor> input_grads) {
  for (size_t i = 0; i < input_grads.size(); ++i) {
    const std::optional<Found> made = find(input_grads[i]);
    if (!made) continue;
    const std::string layer = node.layer().empty() ? "" : node.layer() + ": ";
    fail(Code::kNotFinite, "", "%sbackward of %s made %s at %s of the gradient %s of input %zu", layer.c_str(),
         node.name(), name_of(*made), made->place.c_str(), ShapeText(input_grads[i].shape()).text, i);
  }
}

}  // namespace halftone
