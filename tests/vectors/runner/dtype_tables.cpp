// Result dtypes, as tables over pairs of dtypes.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

using Names = std::vector<std::string>;

Tensor one(htone_device* device, const std::string& dtype, int32_t ndim) {
  const int64_t shape[] = {1};
  return make<Tensor>(htone_tensor_create_full, device, dtype_of(dtype), ndim, shape, 1.0);
}

std::string dtype_of_result(const std::string& operation, const Call& call) {
  try {
    htone_dtype dtype = HTONE_F32;
    ok(htone_tensor_dtype(call_operation(operation, call).at(0).get(), &dtype));
    return htone_dtype_name(dtype);
  } catch (const Refused&) {
    return "error";
  }
}

std::string promoted(const std::string& a, const std::string& b) {
  htone_dtype dtype = HTONE_F32;
  return htone_dtype_promote(dtype_of(a), dtype_of(b), &dtype) == HTONE_OK ? htone_dtype_name(dtype) : "error";
}

std::string of_two(htone_device* device, const Json& attributes, const std::string& a, const std::string& b) {
  const Tensor left = one(device, a, attributes["ndims"][0]), right = one(device, b, attributes["ndims"][1]);
  const Tensor condition = one(device, "bool", 0);
  Call call = {device, {left.get(), right.get()}, Json::object()};
  if (attributes["of"] == "where") call.inputs.insert(call.inputs.begin(), condition.get());
  return dtype_of_result(attributes["of"], call);
}

std::string of_one(htone_device* device, const Json& attributes, const std::string& operation,
                   const std::string& dtype) {
  const Tensor input = one(device, dtype, 1);
  return dtype_of_result(operation, {device, {input.get()}, attributes["settings"][operation]});
}

template <class Cell>
Json filled(const Names& rows, const Names& columns, Cell cell) {
  Json table = Json::array();
  for (const std::string& row : rows) {
    Json line = Json::array();
    for (const std::string& column : columns) line.push_back(cell(row, column));
    table.push_back(line);
  }
  return table;
}

}  // namespace

Json dtype_table(htone_device* device, const std::string& kind, const Json& attributes) {
  const Names dtypes = attributes["dtypes"];
  if (kind == "promote_table") return filled(dtypes, dtypes, promoted);
  if (kind == "dtype_table") {
    return filled(dtypes, dtypes,
                  [&](const std::string& a, const std::string& b) { return of_two(device, attributes, a, b); });
  }
  return filled(attributes["of"], dtypes, [&](const std::string& operation, const std::string& dtype) {
    return of_one(device, attributes, operation, dtype);
  });
}

}  // namespace vectors
