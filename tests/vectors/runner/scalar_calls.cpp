// Operations of a tensor and a number, and operations that write into their first operand.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

using WithNumber = htone_status (*)(htone_tensor*, double, htone_tensor**);
using InPlace = htone_status (*)(htone_tensor*, htone_tensor*);

const std::map<std::string, WithNumber> kWithNumber = {
    {"add_scalar", htone_add_scalar}, {"sub_scalar", htone_sub_scalar}, {"mul_scalar", htone_mul_scalar},
    {"div_scalar", htone_div_scalar}, {"eq_scalar", htone_eq_scalar},   {"ne_scalar", htone_ne_scalar},
    {"lt_scalar", htone_lt_scalar},   {"le_scalar", htone_le_scalar},   {"gt_scalar", htone_gt_scalar},
    {"ge_scalar", htone_ge_scalar}};

const std::map<std::string, InPlace> kInPlace = {{"add_in_place", htone_tensor_add_in_place},
                                                 {"sub_in_place", htone_tensor_sub_in_place},
                                                 {"mul_in_place", htone_tensor_mul_in_place},
                                                 {"div_in_place", htone_tensor_div_in_place},
                                                 {"copy_from", htone_tensor_copy_from}};

}  // namespace

Calls scalar_calls() {
  Calls calls;
  for (const auto& [name, function] : kWithNumber) {
    calls[name] = [f = function](const Call& call) {
      return results(compute(f, call.inputs[0], call.number("number")));
    };
  }
  // The result is a copy of the operand that was written.
  for (const auto& [name, function] : kInPlace) {
    calls[name] = [f = function](const Call& call) {
      accepted(f(call.inputs[0], call.inputs[1]));
      return results(compute(htone_tensor_clone, call.inputs[0]));
    };
  }
  return calls;
}

}  // namespace vectors
