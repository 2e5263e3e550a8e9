// Operations at special values, compared with PyTorch's results, or with the documented results where the two differ.
#include <optional>

#include "runner/operation_calls.h"
#include "runner/operation_values.h"

namespace vectors {
namespace {

// The result of the library: its outputs, or the stage that failed.
struct Answer {
  std::string error;  // the stage that failed; empty if none did
  htone_status status = HTONE_OK;
  Tensors inputs, outputs;
};

// A vector's name begins with the operation, unless a member names it.
std::string operation_of(const Json& vector) {
  const std::string name = vector["name"];
  return vector.value("operation", name.substr(0, name.find('/')));
}

std::vector<htone_tensor*> borrowed(const Tensors& tensors) {
  std::vector<htone_tensor*> list;
  for (const Tensor& tensor : tensors) list.push_back(tensor.get());
  return list;
}

void backward(htone_device* device, const Json& vector, const Answer& answer) {
  htone_tensor* result = answer.outputs.at(0).get();
  int64_t count = 0;
  ok(htone_tensor_numel(result, &count));
  const Json ones = std::vector<double>(static_cast<size_t>(count), 1);
  const Tensor weights = tensor_like(device, result, vector.value("upstream", ones));
  accepted(htone_tensor_backward(result, weights.get(), 0));
}

bool asks_gradient(const Json& inputs) {
  for (const Json& input : inputs) {
    if (input.is_object() && input.value("grad", false)) return true;
  }
  return false;
}

Answer answer_to(htone_device* device, const Json& vector) {
  Answer answer;
  for (const Json& input : vector["inputs"]) answer.inputs.push_back(tensor_of(device, input));
  const char* stage = "operation";
  try {
    const Call call = {device, borrowed(answer.inputs), vector.value("attributes", Json::object())};
    answer.outputs = call_operation(operation_of(vector), call);
    stage = "backward";
    if (asks_gradient(vector["inputs"])) backward(device, vector, answer);
  } catch (const Refused& refused) {
    answer.error = stage;
    answer.status = refused.status;
  }
  return answer;
}

void compare_errors(const Answer& answer, const Json& expected) {
  const std::string error = expected.value("error", ""), status = expected.value("status", "");
  if (answer.error != error) {
    throw Mismatch(answer.error.empty() ? "is no error" : "an error of the " + answer.error + ": " + last_error());
  }
  if (!status.empty() && status != htone_status_name(answer.status)) throw Mismatch("another status: " + last_error());
  if (answer.status == HTONE_ERROR_INTERNAL || answer.status == HTONE_ERROR_OUT_OF_MEMORY) throw Mismatch(last_error());
}

void compare_gradient(htone_tensor* input, const Json& expected, const Tolerance& tolerance) {
  htone_tensor* gradient = nullptr;
  const bool has_one = input != nullptr && htone_tensor_grad(input, &gradient) == HTONE_OK;
  const Tensor owner(gradient);
  if (has_one == expected.is_null()) throw Mismatch(has_one ? "is there" : "is not there");
  if (has_one) compare_numbers(gradient, expected, tolerance);
}

template <class Compare>
void each(const char* what, const Json& expected, size_t count, Compare compare) {
  if (expected.size() != count) throw Mismatch(std::to_string(count) + " " + what + "s");
  for (size_t i = 0; i < count; ++i) {
    try {
      compare(i);
    } catch (const Mismatch& mismatch) {
      throw Mismatch(std::string(what) + " " + std::to_string(i) + " " + mismatch.what());
    }
  }
}

void compare(const Answer& answer, const Json& expected, const Tolerance& tolerance) {
  compare_errors(answer, expected);
  if (expected.contains("outputs")) {
    each("output", expected["outputs"], answer.outputs.size(),
         [&](size_t i) { compare_tensor(answer.outputs[i].get(), expected["outputs"][i], tolerance); });
  }
  if (expected.contains("gradients")) {
    each("gradient", expected["gradients"], answer.inputs.size(),
         [&](size_t i) { compare_gradient(answer.inputs[i].get(), expected["gradients"][i], tolerance); });
  }
}

// Empty if the result is the expected one.
template <class Compare>
std::string difference(const Compare& compare) {
  try {
    compare();
    return "";
  } catch (const Mismatch& mismatch) {
    return mismatch.what();
  }
}

// If a vector declares a difference, the result must be the library's documented one and not PyTorch's.
template <class Compare>
void hold(const Json& vector, const Compare& compare_with) {
  if (!vector.contains("differs")) return compare_with(vector["pytorch"]);
  compare_with(vector["halftone"]);
  if (difference([&] { compare_with(vector["pytorch"]); }).empty()) {
    throw Mismatch("is documented as a difference, and is none");
  }
}

}  // namespace

std::string run_operation(htone_device* device, const Json& vector) {
  const std::string operation = operation_of(vector);
  if (operation.find("table") != std::string::npos) {
    const Json table = dtype_table(device, operation, vector["attributes"]);
    hold(vector, [&](const Json& expected) {
      if (table != expected["table"]) throw Mismatch("is " + table.dump() + ", expected " + expected["table"].dump());
    });
    return "";
  }
  const Tolerance tolerance = {vector.value("tolerance", 0.0), vector.value("absolute", 0.0)};
  const Answer answer = answer_to(device, vector);
  hold(vector, [&](const Json& expected) { compare(answer, expected, tolerance); });
  return "";
}

}  // namespace vectors
