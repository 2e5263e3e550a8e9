// Functions of one, two and three tensors.
#include <cmath>

#include "runner/operation_calls.h"

namespace vectors {
namespace {

using One = htone_status (*)(htone_tensor*, htone_tensor**);
using Two = htone_status (*)(htone_tensor*, htone_tensor*, htone_tensor**);

const std::map<std::string, One> kOne = {{"exp", htone_exp},
                                         {"log", htone_log},
                                         {"sqrt", htone_sqrt},
                                         {"rsqrt", htone_rsqrt},
                                         {"neg", htone_neg},
                                         {"reciprocal", htone_reciprocal},
                                         {"abs", htone_abs},
                                         {"sin", htone_sin},
                                         {"cos", htone_cos},
                                         {"sigmoid", htone_sigmoid},
                                         {"tanh", htone_tanh},
                                         {"silu", htone_silu},
                                         {"softplus", htone_softplus},
                                         {"relu", htone_relu},
                                         {"floor", htone_floor},
                                         {"ceil", htone_ceil},
                                         {"round", htone_round},
                                         {"sign", htone_sign},
                                         {"erf", htone_erf},
                                         {"log1p", htone_log1p},
                                         {"expm1", htone_expm1},
                                         {"logical_not", htone_logical_not},
                                         {"is_nan", htone_is_nan},
                                         {"is_finite", htone_is_finite},
                                         {"is_inf", htone_is_inf},
                                         {"trunc", htone_trunc},
                                         {"tan", htone_tan},
                                         {"log2", htone_log2},
                                         {"log10", htone_log10},
                                         {"hardswish", htone_hardswish},
                                         {"mish", htone_mish},
                                         {"selu", htone_selu},
                                         {"log_sigmoid", htone_log_sigmoid},
                                         {"bitwise_not", htone_bitwise_not}};

const std::map<std::string, Two> kTwo = {{"add", htone_add},
                                         {"sub", htone_sub},
                                         {"mul", htone_mul},
                                         {"div", htone_div},
                                         {"pow", htone_pow},
                                         {"maximum", htone_maximum},
                                         {"eq", htone_eq},
                                         {"ne", htone_ne},
                                         {"lt", htone_lt},
                                         {"le", htone_le},
                                         {"minimum", htone_minimum},
                                         {"gt", htone_gt},
                                         {"ge", htone_ge},
                                         {"matmul", htone_matmul},
                                         {"logical_and", htone_logical_and},
                                         {"logical_or", htone_logical_or},
                                         {"logical_xor", htone_logical_xor},
                                         {"fmod", htone_fmod},
                                         {"remainder", htone_remainder},
                                         {"floor_divide", htone_floor_divide},
                                         {"atan2", htone_atan2},
                                         {"logaddexp", htone_logaddexp},
                                         {"bitwise_and", htone_bitwise_and},
                                         {"bitwise_or", htone_bitwise_or},
                                         {"bitwise_xor", htone_bitwise_xor},
                                         {"prelu", htone_prelu}};

using Three = htone_status (*)(htone_tensor*, htone_tensor*, htone_tensor*, htone_tensor**);
using Scaled = htone_status (*)(htone_tensor*, htone_tensor*, htone_tensor*, double, htone_tensor**);

const std::map<std::string, Three> kThree = {{"where", htone_where}, {"lerp", htone_lerp}};
const std::map<std::string, Scaled> kScaled = {{"addcmul", htone_addcmul}, {"addcdiv", htone_addcdiv}};

Tensors gelu(const Call& call) {
  const bool is_tanh = call.settings.at("form") == "tanh";
  return results(compute(htone_gelu, call.inputs[0], is_tanh ? HTONE_GELU_TANH : HTONE_GELU_ERF));
}

Tensors clamp(const Call& call) {
  return results(compute(htone_clamp, call.inputs[0], call.number("low"), call.number("high")));
}

Tensors cast(const Call& call) {
  return results(compute(htone_cast, call.inputs[0], dtype_of(call.settings.at("dtype"))));
}

}  // namespace

Calls elementwise_calls() {
  Calls calls = {{"gelu", gelu}, {"clamp", clamp}, {"cast", cast}};
  for (const auto& [name, function] : kOne) {
    calls[name] = [f = function](const Call& call) { return results(compute(f, call.inputs[0])); };
  }
  for (const auto& [name, function] : kTwo) {
    calls[name] = [f = function](const Call& call) { return results(compute(f, call.inputs[0], call.inputs[1])); };
  }
  for (const auto& [name, function] : kThree) {
    calls[name] = [f = function](const Call& call) {
      return results(compute(f, call.inputs[0], call.inputs[1], call.inputs[2]));
    };
  }
  for (const auto& [name, function] : kScaled) {
    calls[name] = [f = function](const Call& call) {
      return results(compute(f, call.inputs[0], call.inputs[1], call.inputs[2], call.number("value")));
    };
  }
  calls["lerp_scalar"] = [](const Call& call) {
    return results(compute(htone_lerp_scalar, call.inputs[0], call.inputs[1], call.number("weight")));
  };
  calls["is_close"] = [](const Call& call) {
    return results(compute(htone_is_close, call.inputs[0], call.inputs[1], call.number("rtol"), call.number("atol"),
                           int32_t{call.flag("equal_nan")}));
  };
  calls["nan_to_num"] = [](const Call& call) {
    return results(compute(htone_nan_to_num, call.inputs[0], call.number("nan"), call.number("posinf", NAN),
                           call.number("neginf", NAN)));
  };
  calls["glu"] = [](const Call& call) { return results(compute(htone_glu, call.inputs[0], call.whole("dim"))); };
  calls["masked_fill"] = [](const Call& call) {
    return results(compute(htone_masked_fill, call.inputs[0], call.inputs[1], call.number("value")));
  };
  calls["pow_scalar"] = [](const Call& call) {
    return results(compute(htone_pow_scalar, call.inputs[0], call.number("exponent")));
  };
  calls["leaky_relu"] = [](const Call& call) {
    return results(compute(htone_leaky_relu, call.inputs[0], call.number("negative_slope")));
  };
  calls["elu"] = [](const Call& call) { return results(compute(htone_elu, call.inputs[0], call.number("alpha"))); };
  calls["rescale"] = [](const Call& call) {
    return results(compute(htone_rescale, call.inputs[0], call.number("scale"), call.number("offset")));
  };
  calls["dropout"] = [](const Call& call) {
    return results(compute(htone_dropout, call.inputs[0], call.number("p"), int32_t{call.flag("training")}));
  };
  return calls;
}

}  // namespace vectors
